"""R7, R8, R9, R15 and R19 for cited text: quotes, numbers and names stand there; nothing is made up."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.words import words
from ledgerkit.memory.rulings import CONTRADICTED, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences
from ledgerkit.protocol.vocabulary import TrustLevel

_QUOTE: Final = '["“`]([^"”`\n]{8,})["”`]'
NUMBER: Final = r"(?:^|[^\w.])([-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?\d+(?:\.\d+)?)\s*(%)?"
IDENTIFIER: Final = (
    r"(?:[\w.@~-]+/)+[\w.@-]+|\b[\w-]+\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|kt|rb|c|h|cpp|cs|toml|ya?ml|json|md|sql|sh|ex|exs|xml)\b|"
    r"\b[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)+(?:\(\))?|\b[0-9a-f]{7,40}\b|\bv?\d+\.\d+(?:\.\d+)+[\w.-]*|\b[a-z]+_[a-z_0-9]+\b"
)
_MODAL: Final = r"(?i)\b(?:must|shall|required|requires?|never|have to|has to|need(?:s|ed)? to|mandatory)\b"
_DENIAL: Final = r"(?i)\b(?:not|never|no|cannot|without|forbid\w*|don't|doesn't|mustn't)\b"
_STOP_WORDS: Final = list(
    words(
        "the a an and or of to in on for with is are be was were must shall never required require requires that this "
        "it "
        "as by at from all any has have had need needs should will user users run code not no do does"
    )
)
OVERLAP: Final = 0.6
"""Share of the words of a sentence that must come back where it is told in other words."""
_UNTRUSTED: Final = (
    TrustLevel.MODEL_GENERATED.value, TrustLevel.REPOSITORY_UNTRUSTED.value,
    TrustLevel.NETWORK_UNTRUSTED.value, TrustLevel.UNKNOWN.value,
)  # fmt: skip
_ORDER: Final = {level.value: rank for rank, level in enumerate(TrustLevel)}


def folded(text: pl.Expr) -> pl.Expr:
    """A text in normal form C with its white space folded."""
    return text.str.normalize("NFC").str.replace_all(r"\s+", " ").str.strip_chars()


def _together(cited: pl.DataFrame) -> pl.DataFrame:
    """One row a claim, with all that it cites as one text."""
    return cited.group_by("claim_id", maintain_order=True).agg(
        pl.col("text").first(),
        cited_text=pl.col("ref_text").drop_nulls().str.join("\n"),
        has_text=pl.col("ref_text").is_not_null().any(),
        evidence=pl.col("ref").drop_nulls(),
    )


def _missing(rows: pl.DataFrame, wanted: pl.Expr, there: pl.Expr) -> pl.DataFrame:
    """Rows with what they want, and what of it is not there."""
    items = (
        rows.with_columns(wanted=wanted)
        .select("claim_id", "wanted", "cited_text")
        .explode("wanted", empty_as_null=True)
    )
    absent = items.filter(pl.col("wanted").is_not_null()).with_columns(is_there=there.fill_null(value=False))
    grouped = absent.group_by("claim_id", maintain_order=True).agg(
        missing=pl.col("wanted").filter(~pl.col("is_there")), wants=pl.len()
    )
    return rows.join(grouped, on="claim_id", how="inner", maintain_order="left").filter("has_text")


def r7_quote_match(cited: pl.DataFrame) -> pl.DataFrame:
    """R7: what a claim quotes (eight characters or more) stands word for word in what it cites.

    Args:
        cited: ``claim_id``, ``text`` (of the claim), ``ref``, ``ref_text`` (of the cited range).
    """
    rows = _together(cited)
    quotes = pl.col("text").str.extract_all(_QUOTE).list.eval(pl.element().str.slice(1).str.head(-1))
    found = folded(pl.col("cited_text")).str.contains(folded(pl.col("wanted")), literal=True)
    return _said(_missing(rows, quotes, found), "R7", UNSUPPORTED, "quotes")


def r8_number_match(cited: pl.DataFrame) -> pl.DataFrame:
    """R8: every number of a claim stands in what it cites, or is the sum or difference of two that do.

    Where a claim says an outcome and cites checks, a number that stands only elsewhere is unverified: the number of a
    task is not the number of tests that passed.

    Args:
        cited: ``claim_id``, ``text``, ``ref``, ``ref_text``, ``polarity`` (null where the claim says no outcome),
            ``ref_verdict`` (null where what is cited is no check).
    """
    of_checks = _numbers(cited.filter(pl.col("polarity").is_not_null(), pl.col("ref_verdict").is_not_null()))
    unchecked = of_checks.select("claim_id", unchecked="missing")
    rows = _numbers(cited).join(unchecked, on="claim_id", how="left", maintain_order="left")
    complete = pl.col("missing").list.len() == 0
    elsewhere = pl.col("unchecked").list.len().fill_null(0) > 0
    why = sentences(
        (complete & elsewhere, pl.format("No check that it cites says {}.", pl.col("unchecked").list.join(", "))),
        (complete, "All its numbers stand in what it cites."),
        otherwise=pl.format("These numbers stand in nothing that it cites: {}.", pl.col("missing").list.join(", ")),
    )
    outcome = cases((complete & elsewhere, UNVERIFIED), (complete, SUPPORTED), otherwise=UNSUPPORTED)
    return rulings(rows, "R8", outcome, why)


def _numbers(cited: pl.DataFrame) -> pl.DataFrame:
    """The claims that say numbers, and which of these do not stand in what is cited, nor follow from it."""
    rows = _together(cited).with_columns(
        said=numbers_in(pl.col("cited_text")), numbers=numbers_in(pl.col("text").str.replace_all(IDENTIFIER, " "))
    )
    items = (
        rows.select("claim_id", "numbers", "said")
        .explode("numbers", empty_as_null=True)
        .filter(pl.col("numbers").is_not_null())
    )
    pairs = (
        items.explode("said", empty_as_null=True)
        .rename({"said": "one"})
        .join(
            items.select("claim_id", "numbers", other="said").explode("other", empty_as_null=True),
            on=["claim_id", "numbers"],
            how="left",
        )
    )
    made = pairs.group_by("claim_id", "numbers", maintain_order=True).agg(
        stands=(pl.col("one") == pl.col("numbers")).any(),
        follows=(
            (pl.col("one") + pl.col("other") == pl.col("numbers"))
            | (pl.col("one") - pl.col("other") == pl.col("numbers"))
        ).any(),
    )
    grouped = made.group_by("claim_id", maintain_order=True).agg(
        missing=pl.col("numbers")
        .filter(~(pl.col("stands") | pl.col("follows")).fill_null(value=False))
        .cast(pl.String),
        wants=pl.len(),
    )
    return rows.join(grouped, on="claim_id", how="inner", maintain_order="left").filter("has_text")


def numbers_in(text: pl.Expr) -> pl.Expr:
    """The numbers of a text."""
    plain = pl.element().str.replace_all(r"[^\d.+-]", "").str.strip_chars_end(".")
    return text.str.extract_all(NUMBER).list.eval(plain.cast(pl.Float64, strict=False)).list.drop_nulls()


def r9_ident_match(cited: pl.DataFrame) -> pl.DataFrame:
    """R9: every path, qualified name, hash and version of a claim stands in what it cites.

    Args:
        cited: ``claim_id``, ``text``, ``ref``, ``ref_text``.
    """
    names = pl.col("text").str.extract_all(IDENTIFIER).list.unique(maintain_order=True)
    found = pl.col("cited_text").str.contains(pl.col("wanted").str.strip_suffix("()"), literal=True)
    return _said(_missing(_together(cited), names, found), "R9", UNSUPPORTED, "names")


def _said(rows: pl.DataFrame, rule: str, failed: str, what: str) -> pl.DataFrame:
    complete = pl.col("missing").list.len() == 0
    why = sentences(
        (complete, f"All its {what} stand in what it cites."),
        otherwise=pl.format(f"These {what} stand in nothing that it cites: {{}}.", pl.col("missing").list.join(", ")),
    )
    return rulings(rows, rule, cases((complete, SUPPORTED), otherwise=failed), why)


def content_words(text: pl.Expr) -> pl.Expr:
    """The words of a text that carry it, in lower case."""
    found = text.str.to_lowercase().str.extract_all(r"[a-z0-9_./-]{2,}")
    return found.list.set_difference(pl.lit(_STOP_WORDS))


def r15_no_invented_requirement(cited: pl.DataFrame) -> pl.DataFrame:
    """R15: what a claim says *must* be is required by a user or a contract, in much the same words and the same sense.

    Args:
        cited: ``claim_id``, ``claim_kind``, ``text``, ``ref``, ``ref_kind``, ``ref_text``.
    """
    rows = cited.filter((pl.col("claim_kind") == "user_requirement") | pl.col("text").str.contains(_MODAL))
    from_owner = pl.col("ref_kind").is_in(["user", "contract"]).fill_null(value=False)
    shared = (
        content_words(pl.col("text")).list.set_intersection(content_words(pl.col("ref_text").fill_null(""))).list.len()
    )
    same_sense = pl.col("text").str.contains(_DENIAL) == pl.col("ref_text").str.contains(_DENIAL)
    best = (
        rows.with_columns(
            overlap=pl.when(from_owner).then(shared / content_words(pl.col("text")).list.len().clip(1)).otherwise(0.0),
            same_sense=same_sense,
        )
        .sort("claim_id", "overlap", descending=[False, True])
        .group_by("claim_id", maintain_order=True)
        .agg(pl.col("overlap", "same_sense").first(), evidence=pl.col("ref").drop_nulls())
    )
    required = pl.col("overlap") >= OVERLAP
    outcome = cases((required & pl.col("same_sense"), SUPPORTED), (required, CONTRADICTED), otherwise=UNSUPPORTED)
    why = sentences(
        (required & pl.col("same_sense"), "A user or a contract requires it."),
        (required, "A user or a contract says the opposite."),
        otherwise="No user and no contract requires it.",
    )
    return rulings(best, "R15", outcome, why)


def r19_taint(cited: pl.DataFrame) -> pl.DataFrame:
    """R19: a claim has no more trust than the most trusted thing that it rests on, and untrusted ones rule nothing.

    Args:
        cited: ``claim_id``, ``claim_trust_level`` (what the claim wants to be; null for nothing), ``is_authority``
            (whether it is to stand among policies or contracts), ``ref``, ``ref_trust_level``.
    """
    rank = pl.col("ref_trust_level").replace_strict(_ORDER, default=_ORDER["UNKNOWN"], return_dtype=pl.Int64)
    rows = cited.group_by("claim_id", maintain_order=True).agg(
        pl.col("claim_trust_level", "is_authority").first(),
        evidence=pl.col("ref").drop_nulls(),
        best=rank.min(),
        is_untrusted=pl.col("ref_trust_level").is_in(_UNTRUSTED).fill_null(value=True).all(),
    )
    wanted = pl.col("claim_trust_level").replace_strict(_ORDER, default=None, return_dtype=pl.Int64)
    raised = wanted < pl.col("best")
    ruling = pl.col("is_authority").fill_null(value=False) & pl.col("is_untrusted")
    outcome = cases(
        (ruling | raised, UNSUPPORTED),
        (wanted.is_null() & ~pl.col("is_authority").fill_null(value=False), None),
        otherwise=SUPPORTED,
    )
    why = sentences(
        (ruling, "It rests on untrusted text only, which may not stand among policies and contracts."),
        (raised, "It wants more trust than anything that it rests on has."),
        otherwise="It has no more trust than what it rests on.",
    )
    return rulings(rows, "R19", outcome, why)
