"""The intervals say what a rebuild at every step says: tokens, prefixes, membership, cache and cost."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from ledgerkit import strategies
from ledgerkit.protocol.budget import TokenBudget
from ledgerkit.strategies import CacheRules, RunFrames, Strategy
from ledgerkit.strategies.windows import _random_ranks  # pyright: ignore[reportPrivateUsage]
from tests.strategies import naive
from tests.strategies.drawn import drawn_frames, excerpt_tokens

RATES = (1_000_000, 100_000, 1_250_000)
CACHES = {
    "off": CacheRules(is_on=False),
    "every beginning": CacheRules(minimum_tokens=1),
    "anthropic": CacheRules(minimum_tokens=300, lifetime_s=300, only_whole_prompts=True),
    "openai": CacheRules(minimum_tokens=256, block_tokens=128, lifetime_s=3600),
}


def _ranks(frames: RunFrames, seed: int) -> Callable[[naive.Entry], int]:
    ranks = _random_ranks(frames, seed)
    return lambda e: int(ranks[e.part]) if e.part >= 0 else -e.part


def pairs(frames: RunFrames) -> dict[str, tuple[Strategy, list[naive.Naive]]]:
    """Strategies, and the same in plain Python."""
    ends = dict(frames.parts.filter(pl.col("ends_at").is_not_null()).select("part", "ends_at").iter_rows())
    excerpt = dict(zip(frames.parts["part"], excerpt_tokens(frames.parts, 100), strict=True))
    characters = dict(frames.parts.select("part", "characters").iter_rows())
    budget = TokenBudget(context_window=2500)
    one: dict[str, tuple[Strategy, naive.Naive]] = {
        "full": (strategies.FullHistory(), lambda contexts: contexts),
        "recorded": (strategies.AsRecorded(), naive.as_recorded(ends)),
        "last": (strategies.LastObservations(2), naive.last_observations(2, 1)),
        "last one": (strategies.LastObservations(1), naive.last_observations(1, 1)),
        "polling": (strategies.LastObservations(2, polling=3), naive.last_observations(2, 3)),
        "clear": (strategies.ClearAt(900, keep=2), naive.clear_at(900, 0, 2, 0)),
        "clear late": (strategies.ClearAt(2000, 1500, 1, 100), naive.clear_at(2000, 1500, 1, 100)),
        "clear to target": (strategies.ClearAt(900, 600, 1, 50), naive.clear_at(900, 600, 1, 50)),
        # References take 11 tokens, so that clearing parts of 100, 300 or 400 tokens meets these limits exactly.
        "clear tied": (strategies.ClearAt(700, 511, 0, 89), naive.clear_at(700, 511, 0, 89)),
        "window": (strategies.TokenWindow(900), naive.evict(900, naive.unit_of)),
        "random": (strategies.RandomDrop(900, seed=3), naive.evict(900, _ranks(frames, 3))),
        "sections": (strategies.SectionBudgets(budget), naive.section_budgets(budget)),
        "summary": (strategies.SummariseAt(900, 300, 40), naive.summarise_at(900, 300, 40)),
        "summary tied": (strategies.SummariseAt(600, 300, 40), naive.summarise_at(600, 300, 40)),
        "excerpts": (strategies.HeadTail(200, 100), naive.excerpts(200, 100, excerpt, characters)),
    }
    made = {name: (strategy, [rebuilt]) for name, (strategy, rebuilt) in one.items()}
    chains = [
        ("excerpts", "clear"), ("last", "clear"), ("last", "window"), ("random", "clear"), ("summary", "clear"),
        ("clear", "summary"), ("window", "last"), ("last", "random"), ("polling", "sections"), ("clear", "excerpts"),
        ("excerpts", "last", "summary"), ("random", "summary"), ("summary", "window"), ("last", "summary"),
        ("random", "clear tied"),
    ]  # fmt: skip
    for names in chains:
        chain = one[names[0]][0]
        for name in names[1:]:
            chain = chain | one[name][0]
        made[" | ".join(names)] = (chain, [one[name][1] for name in names])
    return made


STRATEGIES = list(pairs(drawn_frames(0, 1)))


def check(frames: RunFrames, name: str, cache: CacheRules) -> None:
    """Compares one strategy on all runs with its rebuild."""
    strategy, rebuilt = pairs(frames)[name]
    projection = strategies.project(frames, strategy)
    rates = pl.DataFrame([RATES], schema=["rate_input", "rate_cache_read", "rate_cache_write"], orient="row")
    measures = strategies.measure(frames, projection, cache=cache, rates=rates)
    steps = measures.steps().with_columns(run=frames.steps["run"]).partition_by("run", as_dict=True)
    costs = strategies.attribute(measures).group_by("run", "part").agg(pl.col("cost_pico").sum())
    by_part = {(run, part): cost for run, part, cost in costs.iter_rows()}
    rounding = dict(strategies.unattributed(measures).select("run_id", "cost_pico").iter_rows())
    placements = projection.placements.partition_by("run", as_dict=True)
    for run, run_id in frames.runs.select("run", "run_id").iter_rows():
        contexts = naive.full(frames, run)
        for apply in rebuilt:
            contexts = apply(contexts)
        mine = placements.get((run,), projection.placements.clear())
        _check_contexts(mine, contexts, f"{name}, {run_id}")
        times = frames.steps.filter(run=run)["created_at"].to_list()
        wanted = naive.figures(contexts, times, cache, RATES)
        table = steps[run,]
        assert table["tokens"].to_list() == wanted.tokens
        assert table["shared_prefix_tokens"].to_list() == wanted.shared, (name, run_id)
        assert table["cache_read_tokens"].to_list() == wanted.read, (name, run_id)
        assert table["cache_write_tokens"].to_list() == wanted.written
        assert table["cost_pico"].to_list() == wanted.cost
        assert rounding.get(run_id, 0) == wanted.rounding
        known = {part: cost for (owner, part), cost in by_part.items() if owner == run and part >= 0}
        assert known == {part: cost for part, cost in wanted.by_part.items() if part >= 0}, (name, run_id)
        assert sum(c for (owner, _), c in by_part.items() if owner == run) + rounding.get(run_id, 0) == sum(wanted.cost)


def _check_contexts(placements: pl.DataFrame, contexts: list[naive.Context], where: str) -> None:
    rows = placements.sort("position").to_dicts()
    for t, context in enumerate(contexts):
        mine = [
            (r["position"], max(r["part"], -1), r["rendition"], r["section"], r["tokens"])
            for r in rows
            if r["from_step"] <= t < r["to_step"]
        ]
        theirs = [(e.position, max(e.part, -1), e.rendition, e.section, e.tokens) for e in context]
        assert mine == theirs, f"{where}, step {t}"


@pytest.mark.parametrize("name", STRATEGIES)
def test_random_runs_agree_with_a_rebuild(name: str) -> None:
    for number, cache in enumerate(CACHES.values()):
        check(drawn_frames(number + 1, 8), name, cache)


@pytest.mark.parametrize("name", ["last one", "polling", "clear tied"])
def test_a_result_that_is_the_first_part_of_all_agrees_with_a_rebuild(name: str) -> None:
    frames = drawn_frames(3, 4, result_first=True)
    assert frames.parts["is_result"][0]
    check(frames, name, CACHES["anthropic"])


@pytest.mark.long
@pytest.mark.parametrize("name", ["clear", "clear late", "clear to target", "clear tied"])
def test_many_runs_side_by_side_agree_with_a_rebuild(name: str) -> None:
    """Few runs are walked through one by one, many side by side."""
    check(drawn_frames(77, 90, most_steps=6), name, CACHES["anthropic"])


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_thousands_of_random_runs_agree_with_a_rebuild(name: str) -> None:
    for number, cache in enumerate(CACHES.values()):
        for seed in range(6):  # of few runs and of many: some strategies walk through few one by one
            check(drawn_frames(1000 * number + seed, 75 - 45 * (seed % 2), most_steps=20), name, cache)
