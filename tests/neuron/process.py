"""Runs a scenario in a process of its own, with the device installed or not.

A fork server imports torch, diffusers and transformers once, before any device exists; each scenario is forked from it.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

TIME_LIMIT, END_LIMIT = 300.0, 10.0  # seconds for a scenario, and for its process to end after it
TESTS, ROOT = Path(__file__).resolve().parents[1:3]


def start_server() -> None:
    """Starts the fork server, with the environment of `tests/conftest.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(ROOT)]))
        patch.setenv("OMP_NUM_THREADS", "1")  # these operators take less time than two threads to agree
        multiprocessing.get_context("forkserver").set_forkserver_preload(["neuron.scenarios"])
        forkserver.ensure_running()


def run(scenario: Callable[..., Any], **arguments: Any) -> Any:
    """What `scenario(**arguments)` returns in a new process.

    Raises:
        AssertionError: with its traceback when it raises, or when it does not end.
    """
    context = multiprocessing.get_context("forkserver")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, scenario, arguments))
    process.start()
    there.close()
    try:
        assert here.poll(TIME_LIMIT), f"{scenario.__name__} did not end within {TIME_LIMIT:.0f} s"
        result, error = here.recv()
    except EOFError:
        process.join()
        raise AssertionError(f"{scenario.__name__} died with code {process.exitcode}") from None
    finally:
        process.join(END_LIMIT)
        process.kill()
    assert error is None, error
    return result


def _answer(pipe: Connection, scenario: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        pipe.send((scenario(**arguments), None))
    except Exception:
        pipe.send((None, traceback.format_exc()))
