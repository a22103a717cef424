"""Axes of values, joined into classes: union-find."""

from samebits.jax._flatten import Value


class Axes:
    """Classes of (value, axis), open or closed; one is named by any of its members, its root."""

    def __init__(self) -> None:
        self._parent: dict[tuple[Value, int], tuple[Value, int]] = {}
        self._closed: set[tuple[Value, int]] = set()
        self.sums: list[tuple[Value, int]] = []
        self.is_apart = False
        """Whether what is looked at is the body of a loop that devices leave at different times."""

    def of(self, value: Value, axis: int) -> tuple[Value, int] | None:
        """The name of the factor of an axis; None where it is closed."""
        root = self.root((value, axis))
        return None if root in self._closed else root

    def root(self, axis: tuple[Value, int]) -> tuple[Value, int]:
        while (above := self._parent.get(axis, axis)) != axis:
            self._parent[axis] = self._parent.get(above, above)
            axis = above
        return axis

    def join(self, a: Value, i: int, b: Value, j: int) -> None:
        x, y = self.root((a, i)), self.root((b, j))
        if x != y:
            self._parent[y] = x
            if y in self._closed:
                self._closed.add(x)

    def close(self, value: Value, *axes: int) -> None:
        for axis in axes:
            self._closed.add(self.root((value, axis)))

    def close_all(self, *values: Value) -> None:
        for v in values:
            self.close(v, *range(rank(v)))

    def join_all(self, a: Value, b: Value, drop_a: int = 0, drop_b: int = 0) -> None:
        """Axes of a from drop_a on with those of b from drop_b on."""
        for i in range(rank(a) - drop_a):
            self.join(a, i + drop_a, b, i + drop_b)


def rank(v: Value) -> int:
    return len(getattr(v.aval, "shape", ()))
