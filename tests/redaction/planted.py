"""Secrets that are made while a test runs, and written down nowhere."""

from __future__ import annotations

import random

LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def a_value(seed: str, length: int = 24) -> str:
    rng = random.Random(seed)
    return "".join(rng.choice(LETTERS) for _ in range(length)) + "7Q"


def a_password(value: str) -> str:
    return f"DB_PASSWORD={value}"
