"""The manager's plain data and events, as HTML and sentences for the page. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from accel_ui.placement import show_bytes
from accel_ui.requests import Compiling, Decoding, Encoding, Event, GenerationResult, Queued, Step

STATE_WORDS = {
    "loading": "loading",
    "failed": "failed",
    "closing": "closing",
    "ready": "ready",
    "compiling": "compiling",
    "cold": "not compiled yet",
    "eager": "eager",
}


def dot(state: str) -> str:
    """A coloured dot; the word beside it carries the meaning."""
    return f'<span class="au-dot {state}" aria-hidden="true"></span>'


def status_line(status: dict[str, Any]) -> str:
    """Device, dtype and mode; or why there are none yet."""
    if status["phase"] != "ready":
        words = {"loading": "Loading", "failed": "Not loaded", "closing": "Closing"}[status["phase"]]
        kind = " bad" if status["phase"] == "failed" else ""
        return (
            f'<div class="au-line{kind}" role="status">{dot(status["phase"])}{words}: {escape(status["reason"])}</div>'
        )
    parts = [status["model"], status["device"], status["dtype"], status["mode"]]
    return f'<div class="au-line" role="status">{dot("ready")}{escape(" · ".join(parts))}</div>'


def preset_states(presets: Sequence[dict[str, Any]]) -> str:
    """One line a preset: its state and the reason."""
    rows = "".join(
        f"<span>{dot(row['state'])}{escape(row['label'])}</span>"
        f'<span class="au-muted" title="{escape(row["why"], quote=True)}">{STATE_WORDS[row["state"]]}'
        f"{_short_reason(row)}</span>"
        for row in presets
    )
    return f'<div class="au-states">{rows}</div>'


def _short_reason(row: dict[str, Any]) -> str:
    if row["state"] in ("compiling", "eager"):
        return f": {escape(row['why'])}"
    if row["state"] == "cold":
        return f": {escape(row['why'].split(': ', 1)[-1])}"
    return ""


def progress(event: Event) -> str:
    """A bar and a sentence for an event in the middle of a run."""
    share, words = 0.0, "Working"
    if isinstance(event, Queued):
        words = f"Waiting for {event.reason}" if event.reason else "Next in line"
        if event.position and not event.reason:
            words = f"{event.position} request{'s' if event.position > 1 else ''} before yours"
    elif isinstance(event, Encoding):
        words = "Reading the prompt"
    elif isinstance(event, Compiling):
        words = (
            f"Compiling {event.component} for preset {event.preset}: {event.elapsed:.0f} s so far; this happens once"
        )
    elif isinstance(event, Step):
        share, words = event.index / event.count, f"Step {event.index} of {event.count}"
    elif isinstance(event, Decoding):
        share, words = 1.0, "Decoding the picture"
    return (
        f'<div class="au-bar"><i style="width:{share:.0%}"></i></div>'
        f'<div class="au-line au-muted" role="status">{escape(words)}</div>'
    )


def failure(reason: str) -> str:
    """The sentence under the picture when a run made none."""
    return f'<div class="au-line bad" role="alert">{escape(reason)}</div>'


def notice(text: str) -> str:
    """A sentence that is no failure."""
    return f'<div class="au-line au-muted" role="status">{escape(text)}</div>'


def timings(result: GenerationResult) -> str:
    """How long the run took, and on what."""
    t = result.timings
    stages = [
        ("wait", t.queue),
        ("encode", t.encode),
        ("compile", t.compile),
        ("denoise", t.denoise),
        ("decode", t.decode),
    ]
    parts = [f"{name} {seconds:.2f} s" for name, seconds in stages if seconds >= 0.005]
    line = f"{t.total:.2f} s · {', '.join(parts)} · {result.device}, {result.dtype}, {result.mode} · seed {result.request.seed}"
    notices = "".join(f'<div class="au-line">{escape(notice)}</div>' for notice in result.notices)
    return f'<div class="au-line au-muted" role="status">{escape(line)}</div>{notices}'


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], numeric: frozenset[int] = frozenset()) -> str:
    """An HTML table; everything is escaped."""

    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}{' class=num' if index in numeric else ''}>{escape(str(value))}</{tag}>"
            for index, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="au-table"><table><thead><tr>{cells("th", header)}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def machine(status: dict[str, Any]) -> str:
    """Decisions, placement and ledger, with the reasons."""
    parts = [f"<p>{promise(status)}</p>"]
    if status["decisions"]:
        rows = [(d["subject"], d["value"], d["reason"]) for d in status["decisions"]]
        parts += ["<h3>Decisions</h3>", table(("What", "Choice", "Why"), rows)]
    if status["placement"]:
        rows = [(a["component"], a["device"], show_bytes(a["bytes"]), a["reason"]) for a in status["placement"]]
        parts += ["<h3>Placement</h3>", table(("Component", "Device", "Weights", "Why"), rows, frozenset({2}))]
    versions = ", ".join(f"{name} {version}" for name, version in status["versions"].items())
    parts.append(f'<p class="au-muted">{escape(versions)}</p>')
    if status["ledger"]:
        rows = [
            (e["preset"], e["target"], e["how"], e["graphs"], f"{e['seconds']:.1f} s", e["when"][11:19], e["why"])
            for e in status["ledger"]
        ]
        header = ("Preset", "Component", "How", "Graphs", "Took", "When (UTC)", "Why")
        if "graphs_by_rank" in status:  # several processes share the model
            rows = [(*row, e["rank"]) for row, e in zip(rows, status["ledger"], strict=True)]
            header = (*header, "Rank")
        parts += ["<h3>Graphs</h3>", table(header, rows, frozenset({3, 4}))]
    return "".join(parts)


def promise(status: dict[str, Any]) -> str:
    """The promise of the project, as it stands now, in one line."""
    if status["phase"] != "ready":
        return escape(status["reason"])
    runs, since, graphs = status["runs"], status["runs_since_last_graph"], status["graphs_compiled"]
    memory = status["memory_in_use"]
    used = f" {show_bytes(memory)} of memory in use." if memory else ""
    made = status.get("programs")
    own = f" {made['compiled']} programs of the device's own compiler made, {made['loaded']} loaded." if made else ""
    return f"0 graphs compiled in the last {since} of {runs} runs; {graphs} in this process so far.{own}{used}"
