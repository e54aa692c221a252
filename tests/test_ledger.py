"""The record of every graph: complete, in order, and ready for JSON."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from accel_ui.compilation.ledger import Ledger, LedgerEntry


def entry(preset: str = "square", how: str = "compiled", graphs: int = 1) -> LedgerEntry:
    return LedgerEntry("transformer", preset, how, graphs, 12.3456, "first use of these shapes here")


def test_new_ledger_is_empty():
    assert (Ledger().rows(), Ledger().graphs) == ([], 0)


def test_rows_are_plain_data_in_order():
    ledger = Ledger()
    for preset, how, graphs in (("square", "compiled", 1), ("draft", "loaded", 0), ("wide", "eager", 2)):
        ledger.add(entry(preset, how, graphs))
    rows = json.loads(json.dumps(ledger.rows()))
    assert [(row["preset"], row["how"], row["graphs"]) for row in rows] == [
        ("square", "compiled", 1), ("draft", "loaded", 0), ("wide", "eager", 2),
    ]  # fmt: skip
    assert rows[0]["seconds"] == 12.35
    assert rows[0]["why"] == "first use of these shapes here"
    assert ledger.graphs == 3


def test_time_is_utc_to_the_second():
    when = datetime.fromisoformat(entry().when)
    assert when.utcoffset().total_seconds() == 0
    assert when.microsecond == 0
    assert when <= datetime.now(timezone.utc)


def test_entries_that_were_read_do_not_change_afterwards():
    ledger = Ledger()
    before = ledger.entries
    ledger.add(entry())
    assert (len(before), len(ledger.entries)) == (0, 1)
