"""Ctrl-C in the middle of an audit: what is known is printed, and no traceback."""

import pytest

from samebits.cli import main
from samebits.cli._audit import INTERRUPTED

PROGRAM = """
import jax.numpy as jnp, numpy as np
calls = []
def make_input(n):
    return jnp.asarray(np.random.default_rng(0).normal(size=(n, 4)), jnp.float32)
def fn(x):
    float(x[0, 0])   # looks at values, so it is called each time
    calls.append(1)
    if len(calls) == STOP:
        raise KeyboardInterrupt
    return x * 2
"""


@pytest.mark.parametrize(("stop", "known"), [(1, False), (12, True)])
def test_what_is_known_is_printed(tmp_path, capsys, stop, known):
    (tmp_path / "m.py").write_text(PROGRAM.replace("STOP", str(stop)))
    files = [tmp_path / "r.json", tmp_path / "r.html"]
    options = ["--rows", "64", "--json", str(files[0]), "--html", str(files[1])]
    assert main(["audit", str(tmp_path / "m.py"), *options]) == INTERRUPTED
    assert [f.exists() for f in files] == [known, known]
    out, err = capsys.readouterr()
    assert ("holds: " in out) == known
    assert ("interrupted while" in " ".join(out.split())) == known
    assert "interrupted" in err
    assert "Traceback" not in out + err
