"""The pytest plugin, in a pytest of its own."""

import subprocess
import sys

import pytest

from samebits.testing._plugin import _file_name

pytest_plugins = ["pytester"]

PROGRAM = """
    import numpy as np, jax, jax.numpy as jnp, pytest

    X = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)

    def holds(x):
        return x * 2

    def leaks(x):
        return x - jnp.mean(x)

    def test_holds(samebits):
        assert samebits.assert_invariant(holds, X).holds

    def test_leaks(samebits):
        samebits.assert_invariant(leaks, X)

    @pytest.mark.samebits(sizes=(3,), axes=("size", "content"))
    @pytest.mark.parametrize("scale", [1, 2])
    def test_marked(samebits, scale):
        report = samebits.audit(leaks, X)
        assert [a.name for a in report.axes] == ["batch size", "content"]
        assert report.axes[0].tested == (EXPECTED,)
        assert report.verdict == "leak"
"""


def run(pytester, *options, sizes="3"):
    pytester.makepyfile(PROGRAM.replace("EXPECTED", repr(sizes)))
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q", *options)


def test_fixture_marker_and_page(pytester):
    result = run(pytester, "--strict-markers", "--samebits-html", "pages")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*leaks depends on its batch: leak*", "*content: leak*", "*worst: *ulp*relative*"])
    pages = sorted(p.name for p in (pytester.path / "pages").iterdir())
    assert len(pages) == 3
    assert any("test_marked[1]" in p for p in pages)
    assert "<script src" not in (pytester.path / "pages" / pages[0]).read_text()


def test_sizes_of_the_command_line(pytester):
    run(pytester, "--samebits-sizes", "2,1000", "-k", "marked", sizes="2").assert_outcomes(passed=2, deselected=2)


@pytest.mark.parametrize("sizes", ["x", "0", "3,-1", ""])
def test_sizes_that_are_none(pytester, sizes):
    result = run(pytester, f"--samebits-sizes={sizes}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--samebits-sizes*"])


def test_workers(pytester):
    result = run(pytester, "-n", "2", "--samebits-html", "pages")
    result.assert_outcomes(passed=3, failed=1)
    assert len(list((pytester.path / "pages").iterdir())) == 3


def test_a_failure_has_rows_in_hex(pytester):
    result = run(pytester, "-k", "test_leaks")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.re_match_lines([r".*the first rows of", r".*row +entry +ulp +left +right",
                                  r".* \d +\[\d\] +[\d,.e+]+ +\S+ \([0-9a-f]{8}\) +\S+ \([0-9a-f]{8}\)"])  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"), [("t.py::t[a b]", "t.py::t[a/b]"), ("t.py::T", "t.py::t"), ("x" * 300, "y" + "x" * 299)]
)
def test_each_test_has_a_file_of_its_own(one, other):
    names = [_file_name(n) for n in (one, other, one, "\ud800/../é")]
    assert names[0] == names[2]
    assert names[0].lower() != names[1].lower()
    assert all(len(n) < 200 and "/" not in n and n.isascii() for n in names)


def test_nothing_is_imported_before_a_test_asks():
    code = "import sys, samebits.testing._plugin; print({'numpy', 'jax', 'torch', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
