"""What differs from machine to machine is gone from recorded output."""

from __future__ import annotations

import pytest

from ledgerkit.agent.normalise import normalise


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("3 passed in 0.07s", "3 passed in 12.90s"),
        ("<Stock object at 0x7f12ab34cd56>", "<Stock object at 0x104f3a2b0>"),
        ("Python 3.11.7, pytest-9.2.0", "Python 3.13.0, pytest-8.4.1"),
        ("platform linux -- x", "platform darwin -- x"),
        ("/scratch/pytest-of-a/pytest-4/x", "/private/var/pytest-of-b/pytest-17/x"),
        ("E       no attribute 'rate'\n", "E       no attribute 'rate'. Did you mean: 'Rate'?\n"),
        ("    with raises(X):\ntests", "    with raises(X):\n         ^^^^^^^^^\ntests"),
        ("A=1\nB=2\n", "A=1\nSHLVL=1\n_=/usr/bin/env\nB=2\n"),
    ],
)
def test_outputs_of_two_machines_become_equal(here: str, there: str) -> None:
    assert normalise(here, {}) == normalise(there, {})


def test_outputs_that_say_different_things_stay_different() -> None:
    assert normalise("3 passed in 0.07s", {}) != normalise("2 passed in 0.07s", {})


def test_the_longer_of_two_places_is_replaced_first() -> None:
    assert normalise("/a/b/c /a/x", {"/a": "HOME", "/a/b": "WORK"}) == "WORK/c HOME/x"
