"""dev/fuzz_dot.py finds nothing in some cases of each kind, and finds one wrong bit, and what a call must not touch."""

from dataclasses import replace

import pytest

from dev import fuzz_dot


@pytest.mark.parametrize("seed", range(3))
def test_cases_are_right(seed, capsys):
    count, following = fuzz_dot.fuzz(1000 * seed, 1)
    assert following == 1000 * seed + count
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", fuzz_dot.KINDS)
def test_negative_control_one_bit(kind, monkeypatch, capsys):
    draw, share = fuzz_dot.KINDS[kind]

    def draw_wrong(rng):
        trial = draw(rng)

        def ours(out, executor):
            status = trial.ours(out, executor)
            out[-1:] ^= 1
            return status

        return replace(trial, ours=ours)

    monkeypatch.setitem(fuzz_dot.KINDS, kind, (draw_wrong, share))
    with pytest.raises(SystemExit, match=rf"{kind}: sb_(dot|conv).* 1 of \d+ words differ"):
        fuzz_dot.fuzz(0, 30)
    assert "python dev/fuzz_dot.py --case" in capsys.readouterr().out


def test_a_case_is_the_same_each_time():
    for kind, (draw, _) in fuzz_dot.KINDS.items():
        texts = [draw(fuzz_dot.np.random.default_rng([list(fuzz_dot.KINDS).index(kind), 5])).text for _ in range(2)]
        assert texts[0] == texts[1]
