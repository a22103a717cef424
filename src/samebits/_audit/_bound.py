"""The rigorous bound as a witness: whether the order of summation explains the first difference."""

from samebits._audit import _locate
from samebits._audit._trial import Pair, Trial
from samebits.report import Witness


def witness(trial: Trial, pair: Pair) -> list[Witness]:
    """The bound at the first operation at which a pair's calls part; none where that operation has no bound."""
    left, right = _locate.narrow(pair)
    try:
        bound = trial.frontend.bound(trial.fn, trial.batch, trial.per_example, left, right)
    except Exception:  # a witness that cannot be had
        return []
    if bound is None:
        return []
    return [
        Witness(
            "bound",
            f"{bound.operation} on the operands of {pair.label}, which agree bit for bit: "
            f"2 gamma_n sum |a_k b_k| with n = {bound.terms}, u = {bound.unit:.1e}",
            f"the results differ by {bound.difference:.1e}; two orders of summation by at most {bound.bound:.1e}",
            "rounding" if bound.ratio <= 1 else "nothing",
        )
    ]
