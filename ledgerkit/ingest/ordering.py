"""One order of a session's records from the orders of its files, whatever order the files came in.

Logs repeat and cut sessions: checkpoints overlap, pieces follow each other, forks copy. Within a file the order of
lines is the truth. Between files the same rule decides every time: each file's own order holds, and what no file
orders goes by time.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import pairwise

_NO_TIME = 1 << 62


def merge(sequences: Sequence[Sequence[int]], times: Mapping[int, int | None]) -> list[int]:
    """Merges sequences that share elements into one.

    Args:
        sequences: Record keys of each file, in file order.
        times: Time of each record, where it has one; keys that are not in it are left out.

    Returns:
        Every key once. The result depends on the set of sequences, not on their order; it keeps the order of each
        sequence wherever the sequences do not contradict each other.

    Example:
        >>> merge([[5, 6, 7], [1, 2, 5, 6]], {1: 10, 2: 20, 5: 30, 6: 40, 7: 50})
        [1, 2, 5, 6, 7]
    """
    cleaned = [list(dict.fromkeys(key for key in sequence if key in times)) for sequence in sequences]
    ordered = sorted({tuple(sequence) for sequence in cleaned if sequence}, key=lambda s: (_first_time(s, times), s))
    if len(ordered) <= 1:
        return list(ordered[0]) if ordered else []
    return _topological(ordered, _priorities(ordered, times))


def _first_time(sequence: Sequence[int], times: Mapping[int, int | None]) -> int:
    return next((time for key in sequence if (time := times[key]) is not None), _NO_TIME)


def _priorities(ordered: Sequence[Sequence[int]], times: Mapping[int, int | None]) -> dict[int, tuple[int, int, int]]:
    """Rank of each key: its time (or that of the record before it), then its first place."""
    rank: dict[int, tuple[int, int, int]] = {}
    for number, sequence in enumerate(ordered):
        clock = _first_time(sequence, times)
        for place, key in enumerate(sequence):
            own = times[key]
            clock = own if own is not None else clock
            rank.setdefault(key, (clock, number, place))
    return rank


def _topological(ordered: Sequence[Sequence[int]], rank: Mapping[int, tuple[int, int, int]]) -> list[int]:
    followers: dict[int, set[int]] = {key: set() for key in rank}
    waiting = dict.fromkeys(rank, 0)
    for sequence in ordered:
        for before, after in pairwise(sequence):
            if after not in followers[before]:
                followers[before].add(after)
                waiting[after] += 1
    ready = [(rank[key], key) for key, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    stuck = sorted(((rank[key], key) for key in rank), reverse=True)
    placed: dict[int, None] = {}
    while len(placed) < len(rank):
        if ready:
            _, key = heapq.heappop(ready)
        else:  # the files contradict each other: take the earliest that is left
            _, key = stuck.pop()
        if key in placed:
            continue
        placed[key] = None
        for after in followers[key]:
            waiting[after] -= 1
            if waiting[after] == 0:
                heapq.heappush(ready, (rank[after], after))
    return list(placed)
