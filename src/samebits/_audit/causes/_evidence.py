"""What a cause may look at."""

from dataclasses import dataclass

from samebits.report import Axis, Finding, Measurement

# Operations by what they do, in JAX's and in PyTorch's names.
PRODUCTS = frozenset(("dot_general", "conv_general_dilated", "ragged_dot_general", "aten::mm", "aten::addmm",
                      "aten::bmm", "aten::mv", "aten::matmul", "aten::linear", "aten::convolution", "aten::baddbmm",
                      "aten::mkldnn_rnn_layer"))  # fmt: skip
REDUCTIONS = frozenset(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "argmax",
                        "argmin", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "sort", "top_k",
                        "aten::sum", "aten::mean", "aten::max", "aten::min", "aten::amax", "aten::amin", "aten::var",
                        "aten::std", "aten::var_mean", "aten::cumsum", "aten::cumprod", "aten::sort", "aten::topk",
                        "aten::argsort", "aten::argmax", "aten::native_batch_norm", "aten::_softmax",
                        "aten::_log_softmax", "aten::native_layer_norm", "aten::native_group_norm", "aten::norm",
                        "aten::linalg_vector_norm", "aten::prod", "aten::any", "aten::all"))  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """The verdict, the axes by name, the first diverging operation."""

    verdict: str
    axes: dict[str, Axis]
    first: Finding | None

    @property
    def operation(self) -> str:
        return self.first.operation if self.first else ""

    @property
    def is_rounding(self) -> bool:
        return self.verdict in ("rounding", "amplified")

    def differs(self, name: str) -> bool:
        """Whether an axis was run and its comparisons differ."""
        return any(m.differing for m in self.measured(name))

    def holds(self, name: str) -> bool:
        """Whether an axis was run and none of its comparisons differs."""
        found = self.measured(name)
        return bool(found) and not any(m.differing for m in found)

    def measured(self, name: str) -> tuple[Measurement, ...]:
        axis = self.axes.get(name)
        return axis.measurements if axis is not None else ()


def quoted(measurements: tuple[Measurement, ...], most: int = 6) -> tuple[str, ...]:
    """Comparisons as lines: those that differ, and some that do not."""
    lines = [f"{m.label}: {m.differing} of {m.compared} rows differ" for m in measurements]
    return tuple(lines[:most]) + ((f"and {len(lines) - most} more",) if len(lines) > most else ())
