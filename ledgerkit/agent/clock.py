"""Simulated time and seeded identifiers.

The rule: nothing here reads the machine's clock or randomness; equal seeds give equal times and ids.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

Clock = Callable[[], datetime]
"""Tells the time. The loop and the tools take one; a live agent gives the machine's."""

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def stream(*names: object) -> random.Random:
    """A random stream of its own for a named purpose, so that one draw never shifts another."""
    return random.Random(":".join(str(name) for name in names))  # noqa: S311 - simulation, not security


class SimulatedClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime, rng: random.Random) -> None:
        self._now = start
        self._rng = rng

    def __call__(self) -> datetime:
        """The simulated time."""
        return self._now

    def spend(self, seconds: float, *, spread: float = 0.3) -> None:
        """Let time pass: so many seconds, give or take a share of them, in whole milliseconds."""
        factor = 1 + self._rng.uniform(-spread, spread)
        self._now += timedelta(milliseconds=max(1, round(seconds * factor * 1000)))


class SeededIds:
    """Identifiers in the shapes that agents and providers use."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def uuid4(self) -> str:
        """A random UUID."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def random_bytes(self, count: int) -> bytes:
        """Seeded bytes."""
        return self._rng.randbytes(count)

    def hex(self, length: int) -> str:
        """So many hexadecimal digits."""
        return "".join(self._rng.choices("0123456789abcdef", k=length))

    def message(self) -> str:
        """A provider's message id."""
        return "msg_01" + self._letters(22)

    def request(self) -> str:
        """A provider's request id."""
        return "req_011C" + self._letters(20)

    def tool_call(self) -> str:
        """A tool call id."""
        return "toolu_01" + self._letters(22)

    def _letters(self, count: int) -> str:
        return "".join(self._rng.choices(_ALPHABET, k=count))
