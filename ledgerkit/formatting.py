"""Numbers, amounts, times and sizes as text, for reports and the command line.

One rule: an unknown value is shown as unknown.  Every function takes None and then returns its argument ``unknown``; no
function rounds an amount that is there to zero.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

UNKNOWN: Final = "–"

_LEAST_AMOUNT: Final = Decimal("0.0001")
_MILLION: Final = 1_000_000
_BILLION: Final = 1_000_000_000
_BYTE_UNITS: Final = ("kB", "MB", "GB", "TB")
_MINUTE: Final = 60
_SIZES: Final = {"d": 86_400, "h": 3600, "min": _MINUTE, "s": 1}
_UNITS: Final = (("d", "h", 86_400), ("h", "min", 3600), ("min", "s", _MINUTE))


def format_count(count: int | None, *, unknown: str = UNKNOWN) -> str:
    """A whole number with its thousands apart.

    Example:
        >>> format_count(12345), format_count(None)
        ('12,345', '–')
    """
    return unknown if count is None else f"{count:,d}"


def format_compact(count: int | None, *, unknown: str = UNKNOWN) -> str:
    """A large whole number, short: exact below a million.

    Example:
        >>> format_compact(12345), format_compact(1_234_567), format_compact(2_000_000_000)
        ('12,345', '1.2 M', '2.0 G')
    """
    if count is None or abs(count) < _MILLION:
        return format_count(count, unknown=unknown)
    # 999,950,000 would round to 1000.0 M.
    if abs(count) < 999_950_000:
        return f"{count / _MILLION:.1f} M"
    return f"{count / _BILLION:.1f} G"


def format_money(amount: Decimal | None, *, unknown: str = UNKNOWN) -> str:
    """An amount of US dollars: cents from one dollar up, else four places.

    Example:
        >>> format_money(Decimal("1234.565")), format_money(Decimal("0.0423")), format_money(Decimal("0.00001"))
        ('$1,234.57', '$0.0423', '<$0.0001')
        >>> format_money(Decimal(0)), format_money(None)
        ('$0', '–')
    """
    if amount is None:
        return unknown
    if amount == 0:
        return "$0"
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if size >= 1:
        return f"{sign}${size.quantize(Decimal('0.01'), ROUND_HALF_UP):,f}"
    if size < _LEAST_AMOUNT:
        return f"{'>-' if sign else '<'}${_LEAST_AMOUNT:f}"
    return f"{sign}${size.quantize(_LEAST_AMOUNT, ROUND_HALF_UP):f}"


def format_share(part: float | Decimal | None, whole: float | Decimal | None, *, unknown: str = UNKNOWN) -> str:
    """A part of a whole in per cent; unknown where there is no whole.

    Example:
        >>> format_share(1, 3), format_share(1, 1000), format_share(999, 1000), format_share(0, 5), format_share(1, 0)
        ('33 %', '<1 %', '>99 %', '0 %', '–')
    """
    if part is None or not whole:
        return unknown
    percent = float(part) / float(whole) * 100
    if 0 < percent < 1:
        return "<1 %"
    return ">99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def format_duration(seconds: float | None, *, unknown: str = UNKNOWN) -> str:
    """A length of time in its two largest units.

    Example:
        >>> format_duration(0.0123), format_duration(9.87), format_duration(245), format_duration(7380)
        ('12 ms', '9.9 s', '4 min 05 s', '2 h 03 min')
        >>> format_duration(100_000), format_duration(59.99)
        ('1 d 03 h', '1 min 00 s')
    """
    if seconds is None:
        return unknown
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE - 0.05:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    large, small, size = next(units for units in _UNITS if whole >= units[2])
    return f"{whole // size} {large} {whole % size // _SIZES[small]:02d} {small}"


def format_minute(moment: datetime | None, *, unknown: str = UNKNOWN) -> str:
    """A moment in UTC, to the minute, for a column whose heading says that it is UTC.

    Example:
        >>> format_minute(datetime(2026, 1, 7, 9, 29, 46, tzinfo=UTC))
        '2026-01-07 09:29'
    """
    return unknown if moment is None else format_time(moment)[:16]


def format_time(moment: datetime | None, *, unknown: str = UNKNOWN) -> str:
    """A moment in UTC, to the second. A moment without a time zone is taken as UTC.

    Example:
        >>> format_time(datetime(2026, 1, 7, 9, 29, 46, tzinfo=UTC))
        '2026-01-07 09:29:46 UTC'
    """
    if moment is None:
        return unknown
    utc = moment.astimezone(UTC) if moment.tzinfo else moment
    return f"{utc.replace(tzinfo=None).isoformat(' ', 'seconds')} UTC"


def format_bytes(count: int | None, *, unknown: str = UNKNOWN) -> str:
    """A size in decimal units.

    Example:
        >>> format_bytes(1), format_bytes(999), format_bytes(12_345), format_bytes(3_400_000)
        ('1 byte', '999 bytes', '12.3 kB', '3.4 MB')
    """
    if count is None:
        return unknown
    if abs(count) < 1000:
        return f"{count} byte{'' if abs(count) == 1 else 's'}"
    power = 1
    while abs(count) >= 999_950 * 1000 ** (power - 1) and power < len(_BYTE_UNITS):
        power += 1
    return f"{count / 1000**power:.1f} {_BYTE_UNITS[power - 1]}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "run"), plural(1200, "run"), plural(2, "copy", "copies")
        ('1 run', '1,200 runs', '2 copies')
    """
    return f"{count:,d} {one if count == 1 else many or one + 's'}"


def short_id(run_id: str) -> str:
    """The end of a run's id: enough to name it, and unlike the beginning never shared by runs of the same minute.

    Example:
        >>> short_id("019bd639-884f-7245-99a7-ade649d07078")
        '49d07078'
    """
    return run_id[-8:]
