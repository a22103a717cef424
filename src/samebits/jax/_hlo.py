"""A second look: float arithmetic that XLA itself would execute, read from the optimised HLO of a compiled program.

The rewrite is the proof (every equation has its rule); this finds what a rule might have left behind. It reads the text
of each computation, so that a fusion's or a loop's body is seen too.
"""

import re

_FLOAT = r"(?:f8\w*|f16|bf16|f32|f64|c64|c128)"
_ARITHMETIC = frozenset(
    "add subtract multiply divide remainder power exponential exponential-minus-one log log-plus-one "
    "logistic tanh tan sine cosine sqrt rsqrt cbrt erf atan atan2 asin acos "
    "asinh acosh atanh sinh cosh maximum minimum clamp sign floor ceil "
    "round-nearest-afz round-nearest-even dot convolution fft cholesky triangular-solve reduce-precision "
    "compare convert is-finite stochastic-convert".split()
)
_APPLIES = frozenset("reduce reduce-window scatter select-and-scatter map all-reduce reduce-scatter".split())
# Custom calls that are ours or level batch's own (LAPACK), run the user's own code, or only say where a value lies.
_HARMLESS = re.compile(r"samebits_|lapack_|.*callback|.*[Ss]harding|SPMD|annotate_|MoveTo|AllocateBuffer")
_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%?[\w.\-]+ = (?P<type>\(?[^=]*?) (?P<op>[\w\-]+)\((?P<rest>.*)$", re.MULTILINE
)
_COMPUTATION = re.compile(
    r"^(?:ENTRY )?%?(?P<name>[\w.\-]+) (?:\([^\n]*\) -> [^\n]*)?\{\n(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL
)


def float_arithmetic(text: str) -> list[str]:
    """ "dtype operation" of each instruction of optimised HLO that computes, compares or converts floats.

    A library's call on floats is one ("f32 custom-call TopK"), but for LAPACK's, which have their level in the rules.
    """
    bodies = {m["name"]: m["body"] for m in _COMPUTATION.finditer(text)}
    return sorted({found for body in bodies.values() for found in _in_body(body, bodies)})


def _in_body(body: str, bodies: dict[str, str]) -> list[str]:
    types = {
        m.group().split("=")[0].replace("ROOT", "").strip().lstrip("%"): m["type"] for m in _INSTRUCTION.finditer(body)
    }
    found = []
    for m in _INSTRUCTION.finditer(body):
        operands = [types.get(name, "") for name in re.findall(r"%([\w.\-]+)", m["rest"])]
        seen = re.search(_FLOAT + r"(?=\[)", " ".join([m["type"], m["rest"], *operands]))
        if not seen:
            continue
        if m["op"] in _APPLIES:
            applied = re.search(r"to_apply=%?([\w.\-]+)", m["rest"])
            if applied and not _in_body(bodies.get(applied[1], ""), bodies):
                continue  # a plain overwrite, or an integer or boolean reduction
            found.append(f"{seen[0]} {m['op']}")
        elif m["op"] in _ARITHMETIC:
            found.append(f"{seen[0]} {m['op']}")
        elif m["op"] == "custom-call":
            target = re.search(r'custom_call_target="([^"]*)"', m["rest"])
            name = target[1] if target else "of no name"
            if not _HARMLESS.match(name):
                found.append(f"{seen[0]} custom-call {name}")
    return found
