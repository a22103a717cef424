"""dev/fuzz finds nothing in some cases of each kind, and finds one wrong bit, and what a call must not touch."""

from dataclasses import replace

import pytest

from dev.fuzz import __main__ as fuzz


@pytest.mark.parametrize("seed", range(3))
def test_cases_are_right(seed, capsys):
    count, following = fuzz.fuzz(1000 * seed, 1)
    assert following == 1000 * seed + count
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_negative_control_one_bit(kind, monkeypatch, capsys):
    draw, share = fuzz.KINDS[kind]

    def draw_wrong(rng):
        trial = draw(rng)

        def ours(out, executor):
            status = trial.ours(out, executor)
            out[-1:] ^= 1
            return status

        return replace(trial, ours=ours)

    monkeypatch.setitem(fuzz.KINDS, kind, (draw_wrong, share))
    with pytest.raises(SystemExit, match=rf"{kind}: .* 1 of \d+ words differ"):
        fuzz.fuzz(0, 30)
    assert "python -m dev.fuzz --case" in capsys.readouterr().out


def test_a_case_is_the_same_each_time():
    for kind, (draw, _) in fuzz.KINDS.items():
        texts = [draw(fuzz.np.random.default_rng([list(fuzz.KINDS).index(kind), 5])).text for _ in range(2)]
        assert texts[0] == texts[1]
