"""Prefixes in cases that were once wrong."""

from __future__ import annotations

import polars as pl

from ledgerkit.strategies import CacheRules, Projection, SectionBudgets, measure, project
from ledgerkit.strategies.placements import no_calls
from tests.projection.made import call, material, part, result, task


def test_what_comes_behind_all_that_stands_is_appended_even_if_more_stood_there_before() -> None:
    """A section that had reached further back has shrunk: the prompt before is still whole at the beginning."""
    parts = (
        task(), call("a", "Read"), result("a", "late " * 300, 1, "VERIFIER_RESULT"),
        call("b", "Read", 1), result("b", "x " * 400, 2, "VERIFIER_RESULT"),
        call("c", "Read", 2), result("c", "y " * 10, 3, "FILE_OBSERVATION"),
        part("ASSISTANT_RESPONSE", "Now.", at=4),
    )  # fmt: skip
    frames = material(*parts, steps=5).frames
    placements = project(frames, SectionBudgets.of_window(1_000))
    steps = measure(frames, placements, cache=CacheRules(minimum_tokens=1, only_whole_prompts=True)).steps()
    contexts = [frames.context(placements.placements, 0, step) for step in range(5)]
    for step in range(1, 5):
        keys = [list(one.select("part", "rendition").iter_rows()) for one in contexts[step - 1 : step + 1]]
        is_whole = keys[1][: len(keys[0])] == keys[0]
        read = steps["cache_read_tokens"][step]
        assert (read > 0) == (is_whole and bool(keys[0])), (step, keys)
        if is_whole:
            assert read == contexts[step - 1]["tokens"].sum()
    assert steps["tokens"].to_list() == [int(one["tokens"].sum()) for one in contexts]


def test_an_entry_without_tokens_counts_as_an_entry() -> None:
    """What has no tokens (an image that nobody counted) and goes still changes the prompt."""
    frames = material(task(), part("ASSISTANT_RESPONSE", "x", token_count=None), steps=3).frames
    gone = pl.col("part") == 1
    left = frames.base.with_columns(to_step=pl.when(gone).then(2).otherwise("to_step").cast(pl.Int32))
    found = measure(frames, Projection("x", left, no_calls())).prefixes
    assert found.appends.tolist()[:3] == [True, True, False]
    assert found.shared.tolist()[2] == found.tokens.tolist()[2]
