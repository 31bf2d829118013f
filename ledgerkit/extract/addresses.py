"""URLs, hosts, e-mail and IP addresses in texts of any form."""

from __future__ import annotations

import ipaddress
from typing import Final

import polars as pl

from ledgerkit.extract import patterns
from ledgerkit.extract.found import FOUND, as_found
from ledgerkit.extract.spans import spans

_MAX_URL: Final = 4_096
_MAX_HOST: Final = 253
_TRAILING: Final = r".,;:!?*_"


def find_addresses(texts: pl.DataFrame) -> pl.DataFrame:
    """URLs with their hosts, e-mail and IP addresses."""
    urls = _urls(texts)
    mail = spans(texts, patterns.EMAIL).join(spans(texts, patterns.COPY_PLACE), on=["key", "start"], how="anti")
    ips = spans(texts, patterns.IPV4).filter(_is_ipv4())
    long_ips = spans(texts, patterns.IPV6)
    found = [as_found(urls, "url"), _hosts_of(urls), as_found(mail, "email"), as_found(ips, "ip")]
    known = {raw for raw in long_ips["raw"].unique() if ip_value(raw)}
    found.append(as_found(long_ips.filter(pl.col("raw").is_in(list(known))), "ip"))
    return pl.concat([frame.select(pl.col(n).cast(t) for n, t in FOUND.items()) for frame in found])


def _urls(texts: pl.DataFrame) -> pl.DataFrame:
    found = spans(texts, patterns.URL)
    raw = pl.col("raw").str.slice(0, _MAX_URL).str.strip_chars_end(_TRAILING)
    opened = raw.str.count_matches("(", literal=True)
    raw = pl.when(opened == 0).then(raw.str.replace(r"[)\]].*$", "")).otherwise(raw)
    surplus = raw.str.ends_with(")") & (raw.str.count_matches(")", literal=True) > opened)
    raw = pl.when(surplus).then(raw.str.head(-1)).otherwise(raw)
    return (
        found.with_columns(raw=raw.str.strip_chars_end(_TRAILING))
        .with_columns(end=pl.col("start") + pl.col("raw").str.len_chars().cast(pl.Int64))
        .filter(pl.col("raw").str.contains(r"://[^/]|^file:///"))
    )


def _hosts_of(urls: pl.DataFrame) -> pl.DataFrame:
    """The host of each URL, where it stands; behind credentials, before a port."""
    authority = pl.col("raw").str.extract(r"^[^:]+://([^/?#]*)").fill_null("")
    before = pl.col("raw").str.find("://", literal=True).cast(pl.Int64) + 3
    user = authority.str.extract(r"^(.*@)").fill_null("")
    host = authority.str.extract(r"([^@]*)$").fill_null("")
    bare = (
        pl.when(host.str.starts_with("["))
        .then(host.str.extract(r"^\[([^\]]*)"))
        .otherwise(host.str.extract(r"^([^:]*)"))
    )
    shift = host.str.starts_with("[").cast(pl.Int64)
    start = pl.col("start") + before + user.str.len_chars().cast(pl.Int64) + shift
    is_ip = pl.col("raw").str.contains(r"^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$|:")
    return (
        as_found(urls.with_columns(raw=bare, start=start), "host")
        .filter(pl.col("raw").is_not_null() & (pl.col("raw") != "") & (pl.col("raw").str.len_chars() <= _MAX_HOST))
        .with_columns(
            end=pl.col("start") + pl.col("raw").str.len_chars().cast(pl.Int64),
            kind=pl.when(is_ip).then(pl.lit("ip")).otherwise(pl.lit("host")),
        )
    )


def find_bare_hosts(texts: pl.DataFrame) -> pl.DataFrame:
    """Hosts without a scheme, and those of places that files are copied to."""
    copies = spans(texts, patterns.COPY_PLACE)
    user = pl.col("raw").str.extract(r"^(.*@)").str.len_chars().cast(pl.Int64)
    copies = copies.with_columns(start=pl.col("start") + user, raw=pl.col("raw").str.extract(r"@(.*)$"))
    return as_found(pl.concat([spans(texts, patterns.BARE_HOST), copies]), "host")


def _is_ipv4() -> pl.Expr:
    octets = pl.col("raw").str.split(".").list.eval(pl.element().cast(pl.Int64, strict=False) <= 255)
    return octets.list.all()


def ip_value(raw: str) -> str:
    """The shortest way to write an IP address; empty if it is none."""
    try:
        return str(ipaddress.ip_address(raw))
    except ValueError:
        return ""
