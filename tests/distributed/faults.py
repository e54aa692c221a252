"""Prompts that fail, in every rank or in one alone, as an error of a pipeline or of one device does."""

from __future__ import annotations

import os
from typing import Any

EVERYWHERE, IN_RANK_1 = "fails in every rank", "fails in rank 1"


def install() -> None:
    """Makes the prompts fail in this process."""
    from accel_ui.encoding import PromptMemory

    encode = PromptMemory.__call__

    def faulty(memory: PromptMemory, *args: Any, **kwargs: Any) -> Any:
        prompt = kwargs.get("prompt")
        if prompt == EVERYWHERE or (prompt == IN_RANK_1 and os.environ["RANK"] == "1"):
            raise RuntimeError(prompt)
        return encode(memory, *args, **kwargs)

    PromptMemory.__call__ = faulty
