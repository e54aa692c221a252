"""Rows of the table, in Markdown and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.figures import in_words, median


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes:
        part: what it belongs to.
        what: what was measured, in words.
        value: the result; None when there is none, and `note` says why.
        unit: of the value: `x` for a ratio, `s`, `MB`, or words.
        target: what the value may be at most; None without one.
        note: the spread, or what else is to be known.
    """

    part: str
    what: str
    value: float | None
    unit: str = "x"
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without target or value."""
        return None if self.target is None or self.value is None else self.value <= self.target

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "met": self.met}

    def cells(self) -> tuple[str, ...]:
        """For the table."""
        target = "" if self.target is None else f"at most {self.target:g}"
        verdict = {True: "yes", False: "**no**", None: ""}[self.met]
        return self.part, self.what, _shown(self.value, self.unit), target, verdict, self.note


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    digits = 0 if (value == int(value) and unit not in ("x", "s")) or abs(value) >= 100 else 2
    return f"{value:.{digits}f} {unit}".strip()


def seconds(part: str, what: str, values: Sequence[float]) -> Row:
    """The median of `values` and their spread."""
    return Row(part, what, median(values), "s", note=in_words(values))


def ratio(part: str, what: str, values: Sequence[float], target: float | None = None, note: str = "") -> Row:
    """The median of ratios and their spread."""
    return Row(part, what, median(values), "x", target, "; ".join(filter(None, (in_words(values), note))))


HEAD = ("part", "measured", "result", "target", "met", "spread (middle half) and notes")


def markdown(rows: Sequence[Row]) -> str:
    """The table as a person reads it."""
    return lines(HEAD, (row.cells() for row in rows))


def lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown of any table."""
    everything = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in everything)
