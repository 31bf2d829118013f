"""Hunks say exactly how one text becomes the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.agent.patches import Hunk, hunks, unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30)


def applied(before: list[str], found: tuple[Hunk, ...]) -> list[str]:
    out, at = list[str](), 0
    for hunk in found:
        start = hunk.old_start - 1
        assert [line[1:] for line in hunk.lines if line[0] in " -"] == before[start : start + hunk.old_lines]
        out += before[at:start]
        assert len(out) == hunk.new_start - 1
        out += [line[1:] for line in hunk.lines if line[0] in " +"]
        at = start + hunk.old_lines
    return out + before[at:]


@given(LINES, LINES)
def test_applying_the_hunks_gives_the_new_text(before: list[str], after: list[str]) -> None:
    found = hunks("".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after))
    assert applied(before, found) == after


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("a", "x\n", "x\n") == ""
