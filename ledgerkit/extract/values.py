"""The one form of each entity, in which two mentions of the same thing are equal."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.addresses import ip_value
from ledgerkit.extract.commands import package_name
from ledgerkit.extract.paths import normalise_path

_DEFAULT_PORTS: Final = r"^((?:http|ws)://[^/?#]*):80(/|\?|$)|^((?:https|wss)://[^/?#]*):443(/|\?|$)"


def with_values(found: pl.DataFrame) -> pl.DataFrame:
    """The places with their ``value`` and, for paths, ``is_inside``."""
    kind, raw = pl.col("kind"), pl.col("raw")
    value = (
        pl.when(kind == "url")
        .then(_url_value())
        .when(kind.is_in(["host", "email"]))
        .then(raw.str.to_lowercase().str.strip_chars_end("."))
        .when(kind == "command")
        .then(raw.str.extract(r"([^/]*)$"))
        .otherwise(raw)
    )
    return _with_names(_with_paths(found.with_columns(value=value, is_inside=pl.lit(None, pl.Boolean))))


def _url_value() -> pl.Expr:
    raw = pl.col("raw")
    head = raw.str.extract(r"^([^/]*//[^/?#]*)").str.to_lowercase()
    rest = raw.str.extract(r"^[^/]*//[^/?#]*([^#]*)").fill_null("")
    rest = pl.when(rest == "/").then(pl.lit("")).otherwise(rest)
    return (head + rest).str.replace(_DEFAULT_PORTS, "${1}${3}${2}${4}")


def _with_paths(found: pl.DataFrame) -> pl.DataFrame:
    keys = ["raw", "working_directory", "base"]
    distinct = found.filter(pl.col("kind") == "path").select(keys).unique(maintain_order=True)
    normal = [normalise_path(raw, root, base or "") for raw, root, base in distinct.iter_rows()]
    names = distinct.with_columns(
        pl.lit("path").alias("kind"),
        pl.Series("path", [one.value for one in normal], pl.String),
        pl.Series("inside", [one.is_inside for one in normal], pl.Boolean),
    )
    return found.join(names, on=["kind", *keys], how="left", nulls_equal=True, maintain_order="left").with_columns(
        value=pl.coalesce("path", "value"), is_inside=pl.col("inside")
    )


def _with_names(found: pl.DataFrame) -> pl.DataFrame:
    """Packages as their manager compares them, IP addresses as they are written shortest."""
    packages = found.filter(pl.col("kind") == "package").select("kind", "raw", "role").unique(maintain_order=True)
    ips = found.filter(pl.col("kind") == "ip").select("kind", "raw", "role").unique(maintain_order=True)
    named = packages.with_columns(
        pl.Series("name", [package_name(raw, role or "") for _, raw, role in packages.iter_rows()], pl.String)
    )
    numbered = ips.with_columns(pl.Series("name", [ip_value(raw) for _, raw, _ in ips.iter_rows()], pl.String))
    names = pl.concat([named, numbered])
    return found.join(
        names, on=["kind", "raw", "role"], how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(value=pl.coalesce("name", "value"))
