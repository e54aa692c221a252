"""The log: lines to read in a terminal, or one JSON object a line for a collector."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any, Literal

from pythonjsonlogger.json import JsonFormatter


class TextFormatter(logging.Formatter):
    """`time LEVEL message name=value ...`, with the facts of a run behind its message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = getattr(record, "facts", {})
        return " ".join([super().formatMessage(record), *(f"{name}={_shown(value)}" for name, value in facts.items())])


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text) if not text or any(character.isspace() or character in "\"'=" for character in text) else text


class FactsFormatter(JsonFormatter):
    """The facts of a run become fields of their own."""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        super().add_fields(log_data, record, message_dict)
        log_data.update(log_data.pop("facts", {}))


def configure_logging(form: Literal["text", "json"]) -> None:
    """Sends the log of this process to standard error in `form`, without progress bars where nobody watches them."""
    if form == "json" or not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")
    names = {"asctime": "time", "levelname": "level", "name": "logger"}
    formatter = (
        TextFormatter()
        if form == "text"
        else FactsFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=names)
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it prints every request of Gradio's own start-up
