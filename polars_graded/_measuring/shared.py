"""What measures of one ranking share that stand side by side in a query.

Polars shares nothing between them: it calls each with lists of its own, which hold the same. So
what was computed for all at once is kept, with what it was computed of, until they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock, Timer
from weakref import WeakKeyDictionary, WeakSet

from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import Computed
from polars_graded._measuring.names import Measure

PATIENCE = 2.0
"""After so many seconds values that nobody has asked for are let go, with what they are of."""

MANY = 1 << 16
"""Lists of fewer values may stay until the next query is run."""


class Asker:
    """One expression, of one measure or of several together, as long as there is the expression."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures


@dataclass(eq=False)
class Waiting:
    """Values that were computed of some lists for those who have yet to ask for them."""

    lists: Sequence[Lists]
    values: WeakKeyDictionary[Asker, Computed]

    def are_for(self, asker: Asker, lists: Sequence[Lists]) -> bool:
        """Whether some are for one who asks, and computed of the same."""
        return asker in self.values and all(
            mine.equals(theirs) for mine, theirs in zip(self.lists, lists, strict=True)
        )


class Shared:
    """The expressions of one ranking.

    The first one that a query asks computes the values of all that there are. The others take
    theirs, if they were given the same rows; with the last one nothing is left. Who does not ask,
    as it is no part of the query, is not thought of again until it does.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._askers: WeakSet[Asker] = WeakSet()
        self._served: WeakSet[Asker] = WeakSet()
        self._waiting: Waiting | None = None

    def __reduce__(self) -> tuple[type[Shared], tuple[()]]:
        return Shared, ()  # an expression can be sent elsewhere, and a lock cannot

    def asker(self, measures: Sequence[Measure]) -> Asker:
        """One more expression."""
        asker = Asker(measures)
        with self._lock:
            self._askers.add(asker)
        return asker

    def values(
        self,
        asker: Asker,
        lists: Sequence[Lists],
        prepare: Callable[[], Callable[[Sequence[Measure]], Computed]],
    ) -> Computed:
        """The values of an expression for some lists.

        Where there are none, `prepare` makes of the lists what computes measures. Others wait while
        it computes, in threads of Polars, so that it must not need these, as preparing may.
        """
        with self._lock:
            found = self._taken(asker, lists)
        if found is None:
            compute = prepare()
            with self._lock:
                found = self._taken(asker, lists) or self._computed(asker, lists, compute)
        return found

    def _taken(self, asker: Asker, lists: Sequence[Lists]) -> Computed | None:
        """The values that wait for one who asks."""
        if self._waiting is None or not self._waiting.are_for(asker, lists):
            return None
        self._served.add(asker)
        values = self._waiting.values.pop(asker)
        if not self._waiting.values:
            self._waiting = None
        return values

    def _computed(
        self, asker: Asker, lists: Sequence[Lists], compute: Callable[[Sequence[Measure]], Computed]
    ) -> Computed:
        """The values for one who asks, while those for all others begin to wait."""
        self._let_go(self._waiting)
        if asker in self._served:  # it asks again: this is another query
            self._served.clear()
        others = [each for each in self._askers if each not in {asker, *self._served}]
        self._askers.add(asker)
        self._served.add(asker)
        try:
            found = compute([each for one in (asker, *others) for each in one.measures])
        except Exception:
            if not others:
                raise
            return compute(asker.measures)  # for it need not be the one who cannot take the data
        values: WeakKeyDictionary[Asker, Computed] = WeakKeyDictionary()
        start = len(asker.measures)
        for each in others:
            stop = start + len(each.measures)
            values[each], start = found.between(start, stop), stop
        if values:
            self._waiting = Waiting(lists, values)
            if len(lists[0].flat) > MANY:
                timer = Timer(PATIENCE, self._lose_patience, [self._waiting])
                timer.daemon = True
                timer.start()
        return found.between(0, len(asker.measures))

    def _lose_patience(self, waiting: Waiting) -> None:
        with self._lock:
            self._let_go(waiting)

    def _let_go(self, waiting: Waiting | None) -> None:
        """Nobody asked in time."""
        if waiting is not None and waiting is self._waiting:
            self._askers.difference_update(waiting.values)
            self._waiting = None
