from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .process import run, start_server


@pytest.fixture(scope="session")
def in_process() -> Callable[..., Any]:
    """`in_process(scenario, **arguments)`: see :func:`neuron.process.run`."""
    start_server()
    return run
