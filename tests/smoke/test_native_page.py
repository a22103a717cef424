"""docs/native.md: its Python programs and its C program do what they say."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from samebits.native._library import library_path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "native.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_python_programs_hold():
    program = "\n".join(blocks("python"))
    assert program.count("assert ") >= 10
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
def test_the_c_program_compiles_and_finds_the_same_bits(tmp_path):
    (program,), (commands,) = blocks("c"), blocks("sh")
    (tmp_path / "p.c").write_text(program)
    (gcc,) = [line for line in commands.splitlines() if line.startswith("gcc ")]
    line = gcc.replace("native/include", shlex.quote(str(ROOT / "native" / "include")))
    line = line.replace("gcc ", "gcc -std=c99 -Wall -Wextra -Werror ", 1)
    environment = os.environ | {"L": str(library_path().parent)}
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same bits\n"
