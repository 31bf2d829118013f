"""Moments as people give them.

One rule: what carries no time zone is UTC, and a day begins at midnight.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from ledgerkit.errors import QueryError

Moment = datetime | date | str
"""A time, a day, or either as ISO 8601 text."""


def read_moment(given: Moment, name: str = "") -> datetime:
    """A moment as a time with a time zone.

    Args:
        given: The moment.
        name: What it is given for, such as ``since``; errors say it.

    Raises:
        QueryError: If a text is no day or time.

    Example:
        >>> read_moment("2026-03-01")
        datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc)
        >>> read_moment("2026-03-01T12:00+02:00").isoformat()
        '2026-03-01T12:00:00+02:00'
    """
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError as error:
            about = f"{name}={given!r}" if name else repr(given)
            raise QueryError(f"{about} is no day or time. Write it as 2026-03-01 or 2026-03-01T12:00 (UTC).") from error
    elif not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day, tzinfo=UTC)
    return given if given.tzinfo else given.replace(tzinfo=UTC)
