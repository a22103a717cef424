"""Makes the constants of the functions (spec/functions.md) with mpmath: polynomials, ln 2, pi in pieces.

python dev/coefficients.py            writes math_coefficients.h, order/_coefficients.py and the table in functions.md
python dev/coefficients.py --check    computes them again and says whether the files hold them

The lowest coefficients of a polynomial are rounded to float64 one after the other and the rest fitted again, so that
what rounding them costs is put right by the next ones. The largest error of each fit is printed.
"""

import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath as mp
import pieces
import special
from mpmath import mpf

mp.mp.dps = 60
ROOT = Path(__file__).resolve().parent.parent
LN2 = mp.log(2)
THIRD = mpf(1) / 3
KERNELS_ONLY = {
    *("exp_short", "sin_half", "inv_pi", "pi"),
    *("exp_quick", "exp2_quick", "expm1_quick", "log_quick", "sin_quick", "erf_above", "erf_below"),
    *("exp_sixteenth", "expm1_sixteenth", "ln2_sixteenth", "inv_ln2_sixteenth"),
}
"""Constants of the f32 kernels, whose results are defined without a sequence: no contract."""


def fit(f: Callable, weight: Callable, degree: int, low, high, fixed: Sequence[float] = ()):
    """Coefficients c[len(fixed)..degree] with small |weight * (f - sum c_j x^j)| on [low, high], and its maximum.

    Least squares over Chebyshev nodes: within a factor of two or so of the minimax polynomial, and never stuck.
    """
    count = 8 * degree
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf("0.5")) / count) for i in range(count)]
    powers = range(len(fixed), degree + 1)
    rows = mp.matrix([[weight(x) * x**j for j in powers] for x in nodes])
    left = mp.matrix([weight(x) * (f(x) - sum(mpf(c) * x**j for j, c in enumerate(fixed))) for x in nodes])
    solution = mp.lu_solve(rows.T * rows, rows.T * left)
    return list(solution), max(abs(e) for e in left - rows * solution)


def rounded(name: str, f: Callable, weight: Callable, degree: int, low, high, careful: int = 3) -> list[float]:
    """fit(), each coefficient a float64."""
    low, high = mpf(low), mpf(high)
    fixed: list[float] = []
    for _ in range(careful):
        fixed.append(float(fit(f, weight, degree, low, high, fixed)[0][0]))
    rest, size = fit(f, weight, degree, low, high, fixed)
    print(f"{name:12s} degree {degree:2d} on [{float(low):.4g}, {float(high):.4g}]: 2^{float(mp.log(size, 2)):.1f}")
    return fixed + [float(c) for c in rest]


def quotient(name: str, f: Callable, degree: int, high) -> tuple[list[float], list[float]]:
    """Coefficients of two polynomials of one degree, the second beginning with 1: N(x) / D(x) is f to a small part.

    Least squares of the weighted N - f D, with the weights of the last D: fitted again until they agree.
    """
    count, high = 8 * degree, mpf(high)
    nodes = [high / 2 * (1 - mp.cos(mp.pi * (i + mpf("0.5")) / count)) for i in range(count)]
    values, below = [f(x) for x in nodes], [mpf(1)] * count
    above, under = [], []
    for _ in range(4):
        weights = [1 / (v * d) for v, d in zip(values, below, strict=True)]
        rows = mp.matrix([
            [w * (x / high) ** j for j in range(degree + 1)] + [-w * v * (x / high) ** j for j in range(1, degree + 1)]
            for x, v, w in zip(nodes, values, weights, strict=True)
        ])  # fmt: skip
        left = mp.matrix([w * v for v, w in zip(values, weights, strict=True)])
        c = list(mp.lu_solve(rows.T * rows, rows.T * left))
        above = [a / high**j for j, a in enumerate(c[: degree + 1])]
        under = [mpf(1)] + [a / high ** (j + 1) for j, a in enumerate(c[degree + 1 :])]
        below = [mp.polyval(under[::-1], x) for x in nodes]
    size = max(abs(mp.polyval(above[::-1], x) / d / v - 1) for x, v, d in zip(nodes, values, below, strict=True))
    print(f"{name:12s} degree {degree:2d} / {degree} on [0, {float(high):.4g}]: 2^{float(mp.log(size, 2)):.1f}")
    return [float(a) for a in above], [float(a) for a in under]


def head(x, bits: int) -> float:
    """x rounded to so many bits."""
    scale = mpf(2) ** (bits - 1 - int(mp.floor(mp.log(abs(x), 2))))
    return float(mp.nint(x * scale) / scale)


def parts(x, *bits: int) -> list[float]:
    """x as a sum of float64, each rounded to so many bits of what is left."""
    out = []
    for n in bits:
        out.append(head(x, n))
        x = x - mpf(out[-1])
    return out


def taylor(term: Callable[[int], Any], terms: int = 60) -> Callable:
    """The function whose Taylor coefficients are term(0), term(1), ...: without its leading terms."""
    coefficients = [term(j) for j in range(terms)][::-1]
    return lambda x: mp.polyval(coefficients, x)


def polynomials() -> dict[str, list[float]]:
    factorial = mp.factorial
    half_ln2 = LN2 / 2 * mpf("1.0001")
    exp_tail = taylor(lambda j: 1 / factorial(j + 2))
    expm1_over = taylor(lambda j: 1 / factorial(j + 1))
    z_log = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.001")
    z_quarter, z_half = (mp.pi / 4 * mpf("1.0001")) ** 2, (mp.pi / 2 * mpf("1.0001")) ** 2
    sin_tail = taylor(lambda j: (-1) ** (j + 1) / factorial(2 * j + 3))
    asin_tail = taylor(lambda j: mp.binomial(2 * j + 2, j + 1) / (4 ** (j + 1) * (2 * j + 3)))
    erf_tail = taylor(lambda j: 2 / mp.sqrt(mp.pi) * (-1) ** (j + 1) / (factorial(j + 1) * (2 * j + 3)))
    erf_above, erf_below = quotient("erf_quick", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 7, mpf("3.93") ** 2)
    return {
        # (exp(r) - 1 - r) / r^2, |r| <= ln(2)/2: for f64, and shorter for f32
        "exp": rounded("exp", exp_tail, abs, 10, -half_ln2, half_ln2),
        "exp_short": rounded("exp_short", exp_tail, abs, 9, -half_ln2, half_ln2),
        # (2^r - 1 - r ln 2) / r^2
        "exp2": rounded("exp2", taylor(lambda j: LN2 ** (j + 2) / factorial(j + 2)), abs, 9, -0.5, 0.5),
        # log((1 + s) / (1 - s)) = 2 s + s z P(z), z = s^2
        "log": rounded("log", taylor(lambda j: mpf(2) / (2 * j + 3)), lambda z: z, 6, 0, z_log, 2),
        # the same from s^7 on: 2 s + 2/3 s^3 + 2/5 s^5 + s^7 P(z)
        "pow": rounded("pow", taylor(lambda j: mpf(2) / (2 * j + 7)), lambda z: mpf(1), 6, 0, z_log, 2),
        # sin(r) = r + r z S(z) and cos(r) = 1 - z/2 + z^2 C(z), |r| <= pi/4
        "sin": rounded("sin", sin_tail, lambda z: z, 5, 0, z_quarter, 2),
        "cos": rounded("cos", taylor(lambda j: (-1) ** j / factorial(2 * j + 4)), lambda z: z * z, 5, 0, z_quarter, 2),
        # sin(r) for |r| <= pi/2, for f32
        "sin_half": rounded("sin_half", sin_tail, lambda z: z, 7, 0, z_half, 2),
        # asin(s) = s + s z P(z), z = s^2, for |s| <= 1/2
        "asin": rounded("asin", asin_tail, lambda z: z, 12, 0, 0.25, 2),
        # atan(g) = g + g z P(z), z = g^2, for |g| <= 1/4
        "atan": rounded("atan", taylor(lambda j: mpf((-1) ** (j + 1)) / (2 * j + 3)), lambda z: z, 8, 0, 0.0625, 2),
        # m^(-1/3), sqrt(1/2) <= m <= sqrt(2): a first guess
        "cbrt": rounded("cbrt", lambda m: m ** (-THIRD), lambda m: m**THIRD, 6, mp.sqrt(0.5), mp.sqrt(2), 0),
        # for f32 where 2^-38 will do: exp(r), 2^r, (exp(r) - 1) / r, the log and sin above
        "exp_quick": rounded("exp_quick", mp.exp, lambda r: mp.exp(-r), 8, -half_ln2, half_ln2),
        "exp2_quick": rounded("exp2_quick", lambda r: mpf(2) ** r, lambda r: mpf(2) ** -r, 8, -0.5, 0.5),
        "expm1_quick": rounded(
            "expm1_quick", taylor(lambda j: 1 / factorial(j + 1)), lambda r: mpf(1), 7, -half_ln2, half_ln2
        ),
        "log_quick": rounded("log_quick", taylor(lambda j: mpf(2) / (2 * j + 3)), lambda z: z / 2, 3, 0, z_log, 2),
        "sin_quick": rounded("sin_quick", sin_tail, lambda z: z, 5, 0, z_half, 2),
        # exp(r) and (exp(r) - 1) / r again, for |r| <= ln(2)/32
        "exp_sixteenth": rounded("exp_sixteenth", mp.exp, lambda r: mp.exp(-r), 4, -half_ln2 / 16, half_ln2 / 16),
        "expm1_sixteenth": rounded("expm1_sixteenth", expm1_over, lambda r: mpf(1), 4, -half_ln2 / 16, half_ln2 / 16),
        # erf(x) / x for |x| < 3.93, in x^2
        "erf_above": erf_above,
        "erf_below": erf_below,
        # erf(x) = x + x (2/sqrt(pi) - 1 + z P(z)), z = x^2, for |x| < 1
        "erf_small": rounded("erf_small", erf_tail, lambda z: z, 11, 0, 1, 2),
        # erf(x) = 1 - exp(-P(x - 1)) for 1 <= x <= 6
        "erf_large": rounded("erf_large", lambda u: -mp.log(mp.erfc(u + 1)), lambda u: mp.erfc(u + 1), 18, 0, 5, 2),
        **{row[0]: rounded(*row) for row in special.polynomials()},
    }


def constants() -> dict[str, list[float]]:
    return {
        "inv_ln2": parts(1 / LN2, 53),
        "ln2": parts(LN2, 42, 53),  # k times the head is exact for |k| < 2^11
        "ln2_sixteenth": parts(LN2 / 16, 53),
        "inv_ln2_sixteenth": parts(16 / LN2, 53),
        "exp2_c1": parts(LN2, 53, 53),
        "third": parts(mpf(2) / 3, 53, 53),
        "fifth": parts(mpf(2) / 5, 53, 53),
        "inv_pi": parts(1 / mp.pi, 53),
        "pi": parts(mp.pi, 53, 53),
        "two_over_pi": parts(2 / mp.pi, 53),
        "half_pi": parts(mp.pi / 2, 53, 53, 53),
        "atan_half": parts(mp.atan(mpf("0.5")), 53, 53),
        "cbrt_two": parts(2**THIRD, 53) + parts(2**-THIRD, 53),
        "one_third": parts(THIRD, 53),
        "two_ninths": parts(mpf(2) / 9, 53),
        "erf_c0": parts(2 / mp.sqrt(mp.pi) - 1, 53),
        **{name: parts(value, *bits) for name, (value, bits) in special.constants().items()},
        "zeta": [float(mp.bernoulli(2 * j) / mp.factorial(2 * j)) for j in range(1, 13)],
    }


def two_over_pi_words(count: int = 21) -> list[int]:
    """The bits of 2/pi after the binary point as words of 64, after one word of zeros (spec/functions.md)."""
    with mp.workprec(64 * count + 64):
        bits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * (count - 1))))
    return [(bits >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count)]


def sixteenths() -> list[int]:
    """The words of 2^(i/16) less i 2^48, for i < 16: with k 2^48 added, those of 2^(k/16) where i is k mod 16."""
    words = [int.from_bytes(struct.pack(">d", float(mpf(2) ** (mpf(i) / 16))), "big") for i in range(16)]
    return [w - (i << 48) for i, w in enumerate(words)]


def camel(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def floats() -> dict[str, list[float]]:
    """Constants of kernels in pairs of float32 (native/kernels/inner/math_pairs.h, math_pieces.h), each a float32."""
    powers = [mpf(2) ** (mpf(i) / 32) for i in range(32)]
    heads = [parts(p, 24)[0] for p in powers]
    bound = LN2 / 64 * mpf("1.0001")
    series, _ = fit(taylor(lambda j: 1 / mp.factorial(j + 2)), lambda r: r * r, 2, -bound, bound, [0.5])
    margin = mpf(3) / 4 * mpf(2) ** -35
    return {
        "inv_ln2_float": parts(1 / LN2, 24),
        "ln2_float": parts(LN2, 24, 24),
        # (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/64
        "exp_thirty_second": [0.5] + [parts(c, 24)[0] for c in series],
        # 2^(i/32) is head (1 + tail), here with the tail a margin larger
        "thirty_seconds": heads,
        "thirty_seconds_above": [parts(p / h - 1 + margin, 24)[0] for p, h in zip(powers, heads, strict=True)],
        "thirty_seconds_margin": [float(margin)],
        **pieces.tables(),
    }


def files() -> dict[Path, str]:
    """The generated files, by path."""
    tables = polynomials() | constants()
    words = two_over_pi_words()
    header = ["// Constants of the functions, made by dev/coefficients.py (spec/functions.md). Do not edit.",
              "#ifndef SB_KERNELS_INNER_MATH_COEFFICIENTS_H_", "#define SB_KERNELS_INNER_MATH_COEFFICIENTS_H_", "",
              "#include <stdint.h>", "", "// clang-format off", "namespace sb {", "namespace {", ""]  # fmt: skip
    python = ['"""Constants of the functions, made by dev/coefficients.py (spec/functions.md). Do not edit."""', "",
              "_h = float.fromhex", ""]  # fmt: skip
    for name, values in tables.items():
        header += [f"[[maybe_unused]] constexpr double {camel(name)}[] = {{"]
        header += [f"    {v.hex()},  // {v!r}" for v in values] + ["};"]
        if name in KERNELS_ONLY:
            continue
        python += [f"{name.upper()} = ["] + [f'    _h("{v.hex()}"),  # {v!r}' for v in values] + ["]"]
    header += ["[[maybe_unused]] alignas(64) constexpr int64_t kSixteenths[] = {"]
    header += [f"    {w:#018x}," for w in sixteenths()] + ["};"]
    for name, values in floats().items():
        header += [f"[[maybe_unused]] alignas(64) constexpr float {camel(name)}[] = {{"]
        header += [f"    {v.hex()}f,  // {v!r}" for v in values] + ["};"]
    header += ["[[maybe_unused]] constexpr uint64_t kTwoOverPiWords[] = {"]
    header += [f"    {w:#018x}u," for w in words] + ["};", "", "}  // namespace", "}  // namespace sb",
               "// clang-format on", "#endif  // SB_KERNELS_INNER_MATH_COEFFICIENTS_H_", ""]  # fmt: skip
    python += ["TWO_OVER_PI_WORDS = ["] + [f"    0x{w:016X}," for w in words] + ["]", ""]
    spec = ROOT / "spec/functions.md"
    before, _, rest = spec.read_text().partition("<!-- constants -->\n")
    after = rest[rest.index("<!-- end of constants -->") :]
    listing = ["```"] + [f"{name.upper()} = {', '.join(v.hex() for v in values)}" for name, values in tables.items()
               if name not in KERNELS_ONLY]  # fmt: skip
    listing += ["2/pi = 0." + "".join(f"{w:016x}" for w in words[1:]) + " (hexadecimal)", "```", ""]
    return {
        spec: before + "<!-- constants -->\n" + "\n".join(listing) + after,
        ROOT / "native/kernels/inner/math_coefficients.h": "\n".join(header),
        ROOT / "src/samebits/order/_coefficients.py": "\n".join(python),
    }


if __name__ == "__main__":
    stale = False
    for path, text in files().items():
        if "--check" in sys.argv:
            stale |= not path.exists() or path.read_text() != text
        else:
            path.write_text(text)
    if stale:
        sys.exit(
            "the generated files differ from what dev/coefficients.py makes: run it without --check, and mind that"
            " another coefficient is another contract version"
        )
