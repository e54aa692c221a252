"""The same record as a line to read and as JSON."""

from __future__ import annotations

import json
import logging

import pytest

from accel_ui.logs import configure_logging


@pytest.fixture(autouse=True)
def _logging_put_back():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


FACTS = {"outcome": "failed", "seed": 7, "reason": 'It said "no"', "prompt": ""}


def test_text_shows_the_facts_behind_the_message(capsys):
    configure_logging("text")
    logging.getLogger("x").info("run", extra={"facts": FACTS})
    logging.getLogger("x").info("plain")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("""INFO run outcome=failed seed=7 reason='It said "no"' prompt=''""")
    assert second.endswith("INFO plain")


def test_json_has_the_facts_as_fields_and_errors_with_their_traceback(capsys):
    configure_logging("json")
    logging.getLogger("x").info("run", extra={"facts": FACTS})
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("x").exception("failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert FACTS.items() <= first.items()
    assert (first["level"], first["logger"], first["message"]) == ("INFO", "x", "run")
    assert "ValueError: broken" in second["exc_info"]
