"""The models of one run: whose turn it is, and who is not worth asking any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from total_recall.llm.client import ModelError

FAILURES_IN_A_ROW = 2
"""A model that failed so often in a row is not asked again in this run."""
OUT_OF_TIME = "out-of-time"
"""The kind of a ModelError that says that no more time may be spent on models."""

Instead = Callable[[Sequence[ModelError]], tuple[Sequence[str], str]]
"""(why each of the models is gone) → (models to ask in their place, what a person should know of it)."""

_NEVER_AGAIN = ("gone", "auth", "credit")
_NOBODY_AGAIN = ("unreachable", OUT_OF_TIME)


class Roster:
    """Models by name, in turn.

    One that is gone, unpaid or refuses the key is out, and one that fails twice in a row; when nobody answers at the
    endpoint, or the time is up, all are. When all are gone, `instead` may name others.
    """

    def __init__(self, names: Sequence[str], instead: Instead | None = None) -> None:
        self._names = list(dict.fromkeys(names))
        self._instead = instead
        self._failures: dict[str, int] = {}
        self._out: set[str] = set()
        self._gone: dict[str, ModelError] = {}

    @property
    def gone(self) -> tuple[ModelError, ...]:
        """Why those models are gone for which no others stand in."""
        return tuple(self._gone.values())

    def in_turn(self, note: Callable[[str], None]) -> Iterator[str]:
        """The models worth asking, and when all turn out to be gone, those that stand in, which `note` is told of."""
        while True:
            yield from (name for name in self._names if name not in self._out)
            if self._instead is None or not self._gone or len(self._gone) < len(self._names):
                return
            names, line = self._instead(self.gone)
            note(line)
            self._names = list(dict.fromkeys(names))
            self._gone.clear()

    def answered(self, name: str) -> None:
        self._failures.pop(name, None)

    def failed(self, name: str, error: ModelError) -> None:
        self._failures[name] = self._failures.get(name, 0) + 1
        if error.kind in _NEVER_AGAIN or self._failures[name] >= FAILURES_IN_A_ROW:
            self._out.add(name)
        if error.kind == "gone":
            self._gone[name] = error
        if error.kind in _NOBODY_AGAIN:
            self._out.update(self._names)
