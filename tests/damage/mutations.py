"""Random damage of files: what a crash, a full disk, a bad copy or a second writer leaves behind.

Everything is drawn from a seed, so a failure is found again by its number.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

Mutation = Callable[[bytes, random.Random], bytes]


def cut_off(raw: bytes, rng: random.Random) -> bytes:
    """Ends anywhere."""
    return raw[: rng.randrange(len(raw))]


def bytes_flipped(raw: bytes, rng: random.Random) -> bytes:
    """A few bytes are others, a bit of each or all of them."""
    made = bytearray(raw)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(made))
        made[at] = made[at] ^ (1 << rng.randrange(8)) if rng.random() < 0.5 else rng.randrange(256)
    return bytes(made)


def bytes_missing(raw: bytes, rng: random.Random) -> bytes:
    """A stretch is gone, newlines in it included."""
    at = rng.randrange(len(raw))
    return raw[:at] + raw[at + rng.choice((1, 2, 7, 60, 500)) :]


def bytes_doubled(raw: bytes, rng: random.Random) -> bytes:
    """A stretch stands there twice."""
    at = rng.randrange(len(raw))
    end = at + rng.choice((1, 2, 7, 60, 500))
    return raw[:end] + raw[at:end] + raw[end:]


def bytes_inserted(raw: bytes, rng: random.Random) -> bytes:
    """Something else stands between: zeros, noise, what breaks JSON."""
    at = rng.randrange(len(raw) + 1)
    noise = rng.choice((b"\0" * 512, rng.randbytes(9), b"\n", b"{", b'"', b"\\", b"\xe2\x80\xa8", b"[" * 300, b"\r\n"))
    return raw[:at] + noise + raw[at:]


def lines_missing(raw: bytes, rng: random.Random) -> bytes:
    """Lines are gone."""
    lines = raw.splitlines(keepends=True)
    for _ in range(rng.randint(1, 3)):
        if len(lines) > 1:
            del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def lines_doubled(raw: bytes, rng: random.Random) -> bytes:
    """Lines stand there twice, side by side or far apart."""
    lines = raw.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\n".join(lines)


def lines_glued(raw: bytes, rng: random.Random) -> bytes:
    """A newline is gone."""
    ends = [at for at, byte in enumerate(raw) if byte == 0x0A]
    at = rng.choice(ends) if ends else 0
    return raw[:at] + raw[at + 1 :]


def zeroed(raw: bytes, rng: random.Random) -> bytes:
    """A block was never written: zeros stand in its place."""
    at = rng.randrange(len(raw))
    size = rng.choice((16, 512, 4096))
    return raw[:at] + b"\0" * len(raw[at : at + size]) + raw[at + size :]


MUTATIONS: Final[tuple[Mutation, ...]] = (
    cut_off, bytes_flipped, bytes_missing, bytes_doubled, bytes_inserted, lines_missing, lines_doubled, lines_glued,
    zeroed,
)  # fmt: skip


def mutated(raw: bytes, seed: str) -> tuple[str, bytes]:
    """A damaged copy, and what was done to it: one kind of damage, or two.

    Args:
        raw: The content, not empty.
        seed: Decides what happens.
    """
    rng = random.Random(seed)
    done: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        if raw:
            mutation = rng.choice(MUTATIONS)
            raw = mutation(raw, rng)
            done.append(mutation.__name__)
    return " + ".join(done), raw


def undamaged_lines(raw: bytes, damaged: bytes) -> dict[int, int]:
    """Lines of a damaged copy that stand in the original, each paired with one of its own: ``{its number: there}``.

    Numbers count from 1. Where the same line stands in several places, they are paired in order; the last line is
    undamaged only where it ends as it did.
    """
    before, after = _numbered(raw), _numbered(damaged)
    places: dict[bytes, list[int]] = {}
    for number, line in before:
        places.setdefault(line, []).append(number)
    met: Counter[bytes] = Counter()
    paired: dict[int, int] = {}
    for number, line in after:
        if line in places:
            paired[number] = places[line][min(met[line], len(places[line]) - 1)]
            met[line] += 1
    return paired


def _numbered(raw: bytes) -> list[tuple[int, bytes]]:
    return [(number, line) for number, line in enumerate(raw.split(b"\n"), start=1) if line.strip(b" \t\r\0")]
