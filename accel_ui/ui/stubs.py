"""Gradio without the type stubs that it writes when it is imported: 2.6 in place of 4.4 s (Gradio 6.31, one EPYC core)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def no_type_stubs() -> Iterator[None]:
    """Import Gradio inside.

    For an editor's sake, each component that is defined parses its own source and brings a ``.pyi`` file beside it up
    to date; there is no setting against it. A component whose file is not known is left alone, so inside this block no
    component's is.
    """
    getfile = inspect.getfile

    def known(thing: Any) -> str:
        if isinstance(thing, type) and thing.__module__.startswith("gradio."):
            raise OSError("no type stubs")
        return getfile(thing)

    inspect.getfile = known
    try:
        yield
    finally:
        inspect.getfile = getfile
