"""Sentences and HTML of the page: what they say, and that no text of a stranger becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from accel_ui.catalogue import TINY
from accel_ui.requests import (
    Compiling,
    Decoding,
    Encoding,
    GenerationRequest,
    GenerationResult,
    Queued,
    Step,
    Timings,
)
from accel_ui.ui import words

EVIL = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>"


def status(text: str = "x", **changes) -> dict:
    """The manager's status with `text` wherever a text can come from outside."""
    return {
        "phase": "ready", "reason": text, "model": text, "device": "cpu", "dtype": "float32", "mode": "compile",
        "decisions": [{"subject": "device", "value": text, "reason": text}],
        "placement": [{"component": text, "device": text, "bytes": 23_782_357_120, "reason": text}],
        "ledger": [{"preset": text, "target": text, "how": "compiled", "graphs": 1, "seconds": 12.34,
                    "when": "2026-11-30T16:41:20+00:00", "why": text}],
        "runs": 61, "runs_since_last_graph": 60, "graphs_compiled": 2, "memory_in_use": 1_500_000_000,
        "versions": {text: text}, "recent": [],
        **changes,
    }  # fmt: skip


def row(state: str, text: str = "x") -> dict:
    return {"id": "square", "label": text, "state": state, "why": text}


def result(text: str = "x", **changes) -> GenerationResult:
    values = {
        "request": GenerationRequest(text, "square", 2**63 - 1, text), "preset": TINY.presets[0], "model": text,
        "device": "cpu", "dtype": "float32", "mode": "eager", "images": (),
        "timings": Timings(queue=1, encode=0.25, denoise=2, decode=0.5), "notices": [text],
    }  # fmt: skip
    return GenerationResult(**{**values, **changes})


def read(html: str) -> tuple[set[str], set[str], str]:
    """Tags, attributes and visible text, as a browser reads them."""
    tags, attributes, text = set(), set(), []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)
            attributes.update(name for name, _ in attrs)

        def handle_data(self, data):
            text.append(data)

    reader = Reader()
    reader.feed(html)
    reader.close()
    return tags, attributes, "".join(text)


PIECES = {
    **{f"status {phase}": words.status_line(status(EVIL, phase=phase)) for phase in ("ready", "loading", "failed")},
    **{f"preset {state}": words.preset_states([row(state, EVIL)]) for state in words.STATE_WORDS},
    "queued": words.progress(Queued(0, EVIL)),
    "compiling": words.progress(Compiling(EVIL, EVIL, 3)),
    "failure": words.failure(EVIL),
    "last run": words.timings(result(EVIL)),
    "table": words.table([EVIL], [[EVIL]]),
    "machine": words.machine(status(EVIL)),
    "machine failed": words.machine(status(EVIL, phase="failed")),
    "promise": words.promise(status(EVIL, phase="loading")),
}
HARMLESS = {"div", "span", "i", "p", "h3", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("html", PIECES.values(), ids=PIECES)
def test_text_of_a_stranger_is_shown_and_never_becomes_markup(html):
    tags, attributes, text = read(html)
    assert tags <= HARMLESS
    assert attributes <= {"class", "style", "role", "title", "aria-hidden"}
    assert EVIL in text


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("ready", "tiny · cpu · float32 · compile"), ("loading", "Loading: tiny"), ("failed", "Not loaded: tiny"),
     ("closing", "Closing: tiny")],
)  # fmt: skip
def test_status_line_says_device_or_why_there_is_none(phase, expected):
    assert expected in words.status_line(status("tiny", phase=phase))


def test_failure_is_announced():
    assert 'role="alert"' in words.failure("The queue is full.")
    assert "The queue is full." in words.failure("The queue is full.")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("cold", "not compiled yet"),
        ("compiling", "compiling: vae, 12 s so far"),
        ("eager", "eager: vae, 12 s so far"),
        ("ready", "ready"),
    ],
)
def test_preset_says_its_state_in_words(state, expected):
    html = words.preset_states([row(state, "vae, 12 s so far") | {"label": "Square"}])
    assert "Square" in html
    assert expected in html


@pytest.mark.parametrize(
    ("event", "expected", "share"),
    [
        (Queued(0), "Next in line", "0%"),
        (Queued(1), "1 request before yours", "0%"),
        (Queued(3), "3 requests before yours", "0%"),
        (Queued(2, "the model: loading the weights"), "Waiting for the model: loading the weights", "0%"),
        (Encoding(), "Reading the prompt", "0%"),
        (Compiling("transformer", "square", 12.4), "Compiling transformer for preset square: 12 s so far", "0%"),
        (Step(2, 8), "Step 2 of 8", "25%"),
        (Decoding(), "Decoding", "100%"),
    ],
)
def test_progress_says_what_is_happening(event, expected, share):
    html = words.progress(event)
    assert expected in html
    assert f"width:{share}" in html


def test_last_run_tells_its_stages_device_and_seed():
    html = words.timings(result("a notice", notices=["The prompt is longer than this preset reads"]))
    for part in ("3.75 s", "encode 0.25 s", "denoise 2.00 s", "decode 0.50 s", "cpu, float32, eager", str(2**63 - 1)):
        assert part in html
    assert "compile" not in html
    assert "The prompt is longer than this preset reads" in html


def test_promise_counts_graphs_and_runs():
    promise = words.promise(status())
    assert "0 graphs compiled in the last 60 of 61 runs; 2 in this process so far" in promise
    assert "1.5 GB" in promise
    assert "memory" not in words.promise(status(memory_in_use=None))


def test_device_tab_shows_decisions_placement_and_ledger():
    html = words.machine(status("because"))
    for part in ("Decisions", "Placement", "Graphs", "23.8 GB", "12.3 s", "16:41:20", "because"):
        assert part in html
    empty = words.machine(status(decisions=[], placement=[], ledger=[]))
    assert "<table" not in empty
