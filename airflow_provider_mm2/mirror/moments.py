"""Moments in time: milliseconds since 1970, aware times, and how messages show them. Pure."""

from __future__ import annotations

from datetime import datetime, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_ms(moment: datetime) -> int:
    """Milliseconds since 1970 of an aware time; what is below a millisecond is cut off."""
    return (moment - EPOCH) // (EPOCH.resolution * 1000)


def from_ms(milliseconds: int) -> datetime:
    """The aware time of milliseconds since 1970."""
    return EPOCH + EPOCH.resolution * 1000 * milliseconds


def show(milliseconds: int | None) -> str:
    """A time as messages show it."""
    if milliseconds is None:
        return "no time yet"
    try:
        return from_ms(milliseconds).isoformat().replace("+00:00", "Z")
    except OverflowError:  # a record may be stamped with any number
        return f"{milliseconds} ms, which no calendar has"
