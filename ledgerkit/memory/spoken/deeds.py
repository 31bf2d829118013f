"""Evidence for what is said about deeds: commands that were run, what nothing uses, and that all is done."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.memory.rules.checks import r12_not_stale, r14_negative
from ledgerkit.memory.rules.sets import r16_finished_without_failure
from ledgerkit.memory.rulings import CONTRADICTED, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences
from ledgerkit.memory.spoken.joins import RUN, Evidence, before, count_before, marks, with_changes_since

_TELLS: Final = (
    r"(?i)\b(?:fail\w*|broken|errors? remain\w*|pre-?existing|not (?:yet|working)|still (?:need|open|miss)\w*|"
    r"except|unresolved|couldn't|could not|unable)\b"
)
_OPEN: Final = r'"status"\s*:\s*"(?:pending|in_progress|in-progress|todo|open)"'


def rule_on_commands(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``command``: a call that ran it, and did not fail where that was to be said."""
    rows = claims.filter(pl.col("claim_class") == "command").with_columns(wants=pl.col("commands").list.len())
    each = rows.explode("commands", empty_as_null=True).rename({"commands": "wanted"})
    calls = evidence.calls.filter(pl.col("command").is_not_null()).select(
        *RUN, "seen_at", "is_ok", "is_single", "reference", "git", line=pl.col("command").str.replace_all(r"\s+", " ")
    )
    git = pl.col("wanted").str.extract(r"^git (commit|push)$", 1)
    pairs = each.join(calls, on=RUN, how="inner", maintain_order="left_right").filter(
        pl.when(git.is_not_null())
        .then(pl.col("git").list.contains(git))
        .otherwise(pl.col("line").str.contains(pl.col("wanted").str.replace_all(r"\s+", " "), literal=True))
    )
    last = (
        pairs.filter(pl.col("seen_at") < pl.col("sequence_no"))
        .sort("claim_id", "wanted", "seen_at")
        .unique(["claim_id", "wanted"], keep="last", maintain_order=True)
        .group_by("claim_id", maintain_order=True)
        .agg(
            ran=pl.col("wanted").n_unique(),
            failed=(~pl.col("is_ok") & pl.col("is_single")).fill_null(value=False).any(),
            unclear=(~pl.col("is_ok") & ~pl.col("is_single")).fill_null(value=False).any(),
            command=pl.col("line").last(),
            seen_at=pl.col("seen_at").max(),
            evidence=pl.col("reference").unique(maintain_order=True),
        )
    )
    judged = rows.join(last, on="claim_id", how="left", maintain_order="left").with_columns(
        pl.col("evidence").fill_null([])
    )
    judged = marks(judged, pairs.filter(pl.col("seen_at") >= pl.col("sequence_no")), "has_later")
    hidden = evidence.calls.filter(
        (pl.col("action") == "delegate")
        | (pl.col("is_opaque") & pl.col("command").str.contains(r"(?i)commit|push|release|deploy|\bpr\b"))
    )
    judged = marks(judged, before(rows, hidden.select(*RUN, "seen_at")), "may_have_run")
    return _rulings_on_commands(with_changes_since(judged, evidence))


def _rulings_on_commands(judged: pl.DataFrame) -> pl.DataFrame:
    is_git = pl.col("commands").list.first().str.starts_with("git ")
    ran_all = (pl.col("ran") >= pl.col("wants")).fill_null(value=False)
    failed = pl.col("failed").fill_null(value=False) & is_git
    wanted = pl.col("commands").list.join("' and '")
    r10 = rulings(
        judged,
        "R10",
        cases((ran_all & failed, CONTRADICTED), (ran_all & is_git & pl.col("unclear"), UNVERIFIED)),
        sentences(
            (failed, pl.format("'{}' failed when it last ran.", wanted)),
            otherwise=pl.format("A line with '{}' failed; which of its commands did cannot be told.", wanted),
        ),
    )
    says_all = is_git & pl.col("text").str.contains(r"(?i)\b(?:all|everything)\b")
    r12 = r12_not_stale(judged.filter(ran_all & says_all & ~failed).with_columns(may_have_run_since="may_have_run"))
    rest = judged.join(r10, on="claim_id", how="anti")
    r6 = rulings(
        rest,
        "R6",
        cases((ran_all, SUPPORTED), (pl.col("may_have_run"), UNVERIFIED)),
        sentences(
            (ran_all, pl.format("'{}' ran at message {}.", wanted, pl.col("seen_at"))),
            otherwise=pl.format("No recorded call of '{}'; something that ran may have done it.", wanted),
        ),
    )
    rest = rest.join(r6, on="claim_id", how="anti")
    r2 = rulings(
        rest,
        "R2",
        cases((pl.col("has_later") & ~pl.col("has_past"), UNSUPPORTED)),
        pl.format("'{}' ran only after this was said.", wanted),
    )
    rest = rest.join(r2, on="claim_id", how="anti")
    r1 = rulings(
        rest,
        "R1",
        cases((pl.col("has_past"), UNVERIFIED), otherwise=UNSUPPORTED),
        sentences(
            (pl.col("has_past"), pl.format("No call of '{}' in this run, which continues an earlier one.", wanted)),
            otherwise=pl.format("No recorded call of '{}'.", wanted),
        ),
    )
    return pl.concat([r10, r12, r6, r2, r1])


def searches_frame(calls: pl.DataFrame) -> pl.DataFrame:
    """Searches of runs: ``session_id, run_id, seen_at, pattern, is_narrow, is_empty, reference``."""
    arguments = pl.col("arguments")
    text = pl.col("text").str.strip_chars()
    nothing = (text == "") | text.str.contains(
        r"(?i)^(?:no (?:files|matches|results)\b.{0,40}|\(?no output\)?|found 0 .{0,30}|exit code:? 1|Process "
        r"exited with code 1|\(Bash completed with no output\))$"
    )
    cut = text.str.contains(r"(?i)truncated|more results|results are limited")
    path = arguments.str.json_path_match("$.path").fill_null("")
    part = ~path.is_in(["", ".", "./", "/"])
    narrowed = pl.any_horizontal(
        part,
        *(
            arguments.str.json_path_match(f"$.{name}").is_not_null()
            for name in ("glob", "type", "include", "head_limit", "file_types")
        ),
    )
    tools = calls.filter(pl.col("action") == "search", pl.col("is_ok").fill_null(value=True)).select(
        *RUN,
        "seen_at",
        pattern=arguments.str.json_path_match("$.pattern"),
        is_narrow=narrowed | cut,
        is_empty=nothing,
        reference="reference",
    )
    ended = pl.col("is_ok").fill_null(value=True) | nothing
    shell = (
        calls.filter(pl.col("shell_searches").list.len() > 0, ended)
        .explode("shell_searches", empty_as_null=True)
        .unnest("shell_searches", separator=".")
        .select(
            *RUN,
            "seen_at",
            pattern="shell_searches.pattern",
            is_narrow=pl.col("shell_searches.is_narrow") | cut,
            is_empty=nothing,
            reference="reference",
        )
    )
    return pl.concat([tools, shell]).filter(pl.col("pattern").is_not_null(), pl.col("pattern") != "")


def rule_on_absence(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``absence``: the widest of the last searches for that name."""
    rows = claims.filter(pl.col("claim_class") == "absence")
    plain = pl.col("pattern").str.replace_all(r"\\[bsw<>]", "").str.replace_all("\\", "", literal=True)
    pairs = before(rows, searches_frame(evidence.calls)).filter(plain.str.contains(pl.col("subject"), literal=True))
    best = pairs.sort("claim_id", "is_narrow", "seen_at", descending=[False, False, True]).unique(
        "claim_id", keep="first", maintain_order=True
    )
    columns = ["claim_id", "pattern", "is_narrow", "is_empty", "seen_at", "reference"]
    judged = rows.join(best.select(columns), on="claim_id", how="left", maintain_order="left").with_columns(
        has_search=pl.col("pattern").is_not_null(),
        search_at="seen_at",
        may_exist="has_past",
        says_other=pl.col("claim_scope") != "all",
        evidence=pl.concat_list("reference").list.drop_nulls(),
    )
    return r14_negative(with_changes_since(judged, evidence))


def rule_on_done(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``done``: something was done, no task is open, no check fails."""
    rows = claims.filter(pl.col("claim_class") == "done")
    rows = count_before(rows, evidence.calls, "sequence_no", "calls")
    idle = (pl.col("calls") == 0) & ~pl.col("has_past")
    r1 = rulings(rows, "R1", cases((idle, UNSUPPORTED)), pl.lit("No tool was called before this was said."))
    plans = evidence.calls.filter(pl.col("action") == "plan").select(
        *RUN, "seen_at", open_tasks=pl.col("arguments").str.count_matches(_OPEN).cast(pl.Int64), plan="reference"
    )
    last_plan = before(rows, plans).sort("claim_id", "seen_at").unique("claim_id", keep="last", maintain_order=True)
    pairs = before(rows, evidence.checks.drop("tool_call_id")).sort("claim_id", "seen_at", "check_id")
    by_kind = with_changes_since(
        pairs.unique(["claim_id", "kind", "tool", "check_scope"], keep="last", maintain_order=True), evidence
    )
    last_of_kind = pl.col("check_id") == pl.col("check_id").max().over("claim_id", "kind")
    speaks = pl.col("kind").is_in(["test", "build", "types"]) & (pl.col("changes_since") == 0)
    weight = (
        pl.when((pl.col("verdict") == "failed") & last_of_kind)
        .then(0)
        .when((pl.col("verdict") == "passed") & speaks)
        .then(1)
        .otherwise(2)
    )
    last_check = (
        by_kind.filter((pl.col("verdict") != "failed") | last_of_kind)
        .with_columns(weight=weight)
        .sort("claim_id", "weight", "seen_at", descending=[False, False, True])
        .unique("claim_id", keep="first", maintain_order=True)
        .select("claim_id", "verdict", "kind", "command", "seen_at", "reference")
    )
    judged = (
        rows.filter(~idle)
        .join(last_plan.select("claim_id", "open_tasks", "plan"), on="claim_id", how="left", maintain_order="left")
        .join(last_check, on="claim_id", how="left", maintain_order="left")
        .with_columns(
            discloses=pl.col("whole_text").str.contains(_TELLS).fill_null(value=False),
            evidence=pl.concat_list("plan", "reference").list.drop_nulls(),
        )
    )
    return pl.concat([r1, r16_finished_without_failure(with_changes_since(judged, evidence))])
