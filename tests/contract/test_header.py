"""The numbers of native/include/samebits/samebits.h are those that Python writes into descriptors and programs."""

import re
from pathlib import Path

from samebits.native._arrays import MAX_RANK
from samebits.native._attention import _INPUTS
from samebits.native._library import _SIGNATURES, DTYPES
from samebits.native._program import CUMULATIVE, MAGIC, REDUCTIONS, STEPS

HEADER = (Path(__file__).parents[2] / "native" / "include" / "samebits" / "samebits.h").read_text()


def enum(name: str) -> dict[str, int]:
    """Numbers by enumerators in lower case without SB_."""
    (body,) = re.findall(rf"typedef enum {{([^{{}}]*)}} {name};", HEADER)
    numbers: dict[str, int] = {}
    for word, value in re.findall(r"^\s*SB_(\w+)(?: = (\d+))?", body, re.MULTILINE):
        numbers[word.lower()] = int(value) if value else max(numbers.values()) + 1
    return numbers


def test_dtypes():
    short = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "bool"}
    names = [short.get(name) or name.replace("uint", "u").replace("int", "i") for name in DTYPES]
    assert enum("sb_dtype") == {**{name: i for i, name in enumerate(names)}, "dtype_count": len(names)}


def test_steps():
    numbers = {f"step_{name}": i for i, name in enumerate(STEPS)}
    assert enum("sb_step_kind") == {**numbers, "step_count": len(STEPS)}
    assert f"#define SB_PROGRAM_MAGIC {MAGIC:#x}LL" in HEADER


def test_reductions():
    assert enum("sb_reduce_op") == {
        **REDUCTIONS, "reduce_count": len(REDUCTIONS), "logaddexp": CUMULATIVE["logsumexp"],
    }  # fmt: skip


def test_inputs_of_attention():
    numbers = {f"attention_{name}": i for i, name in enumerate(_INPUTS)}
    assert enum("sb_attention_input") == {**numbers, "attention_inputs": len(_INPUTS)}


def test_ranks():
    assert f"#define SB_MAX_RANK {MAX_RANK}\n" in HEADER


def test_each_function_of_the_header_has_a_signature():
    functions = set(re.findall(r"^SB_API [^;(]*?\b(sb_\w+)\(", HEADER, re.MULTILINE))
    assert len(functions) > 30
    assert functions == set(_SIGNATURES)
