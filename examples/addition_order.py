"""The same three numbers added in two orders: in half precision the order is part of the result.

python examples/addition_order.py        (NumPy and ml_dtypes only)
"""

import ml_dtypes
import numpy as np

LINES = (
    ("float16", np.float16, (10000.0, 0.01, 0.01)),
    ("bfloat16", ml_dtypes.bfloat16, (1000.0, 0.1, 0.2)),
    ("bfloat16", ml_dtypes.bfloat16, (1000.0, 1.5, 1.5)),
    ("float32", np.float32, (16777216.0, 1.0, 1.0)),
)
"""dtype name, dtype, (a, b, c): the first two are those of a text on greedy decoding, the others do differ."""


def both_orders(dtype, numbers):
    """((a + b) + c, (b + c) + a), each addition rounded to dtype."""
    a, b, c = (dtype(x) for x in numbers)
    return (a + b) + c, (b + c) + a


def main():
    """Prints each line in both orders."""
    for name, dtype, numbers in LINES:
        left, right = both_orders(dtype, numbers)
        a, b, c = numbers
        same = "same bits" if left == right else "DIFFERENT"
        print(
            f"{name:9} ({a:g} + {b:g}) + {c:g} = {float(left)!r}   ({b:g} + {c:g}) + {a:g} = {float(right)!r}   {same}"
        )


if __name__ == "__main__":
    main()
