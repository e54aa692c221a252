"""Prompt embeddings: computed by the pipeline's own `encode_prompt`, remembered for repeated prompts."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from accel_ui.presets import Preset

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline

REMEMBERED_PROMPTS = 32  # of a few MB each (512 tokens x 4096 numbers in bfloat16 are 4 MB)


class NotHashable(TypeError):
    """The call holds something that cannot be a key, such as embeddings passed in by hand."""


class PromptMemory:
    """Wraps `pipeline.encode_prompt` with a small LRU memory.

    The pipeline goes on calling `self.encode_prompt(...)` itself, so this works for every pipeline without
    knowing what its embeddings are called.

    Attributes:
        watch: makes a context that is entered while the text encoders run.
        counts: prompts ``encoded`` and ``remembered`` so far.
    """

    def __init__(self, pipeline: DiffusionPipeline):
        self.watch: Callable[[], AbstractContextManager[None]] = nullcontext
        self.counts = {"encoded": 0, "remembered": 0}
        self._remembered: OrderedDict[Hashable, Any] = OrderedDict()
        self._encode = pipeline.encode_prompt
        pipeline.encode_prompt = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            key = _key((args, kwargs))
        except NotHashable:
            return self._encode(*args, **kwargs)
        self.counts["remembered" if key in self._remembered else "encoded"] += 1
        if key not in self._remembered:
            with self.watch():
                self._remembered[key] = self._encode(*args, **kwargs)
            if len(self._remembered) > REMEMBERED_PROMPTS:
                self._remembered.popitem(last=False)
        self._remembered.move_to_end(key)
        return self._remembered[key]

    def forget(self) -> None:
        """Drops everything, for instance when the device is out of memory."""
        self._remembered.clear()


def _key(value: Any) -> Hashable:
    if isinstance(value, dict):
        return tuple((name, _key(item)) for name, item in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    if value is None or isinstance(value, (str, int, float, bool, torch.device, torch.dtype)):
        return value
    raise NotHashable(type(value).__name__)


def cut_from(pipeline: DiffusionPipeline, preset: Preset, prompt: str) -> str:
    """The end of `prompt` that does not fit into the preset's tokens; empty when all of it does.

    Where a pipeline has several tokenizers, the last one is the one `max_sequence_length` speaks of.
    """
    tokenizers = [
        part for name, part in pipeline.components.items() if name.startswith("tokenizer") and part is not None
    ]
    if not tokenizers:
        return ""
    tokenizer, text = tokenizers[-1], prompt
    limit = tokenizer.model_max_length
    if "max_sequence_length" in inspect.signature(type(pipeline).__call__).parameters:
        limit = preset.max_sequence_length
    if getattr(tokenizer, "chat_template", None):  # the pipeline wraps the prompt in a chat message
        message = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    whole = tokenizer(text, return_offsets_mapping=True, verbose=False)
    read = tokenizer(text, truncation=True, max_length=limit)["input_ids"]
    if len(whole["input_ids"]) <= len(read):
        return ""
    kept = next((i for i, (a, b) in enumerate(zip(whole["input_ids"], read, strict=False)) if a != b), len(read))
    start = whole["offset_mapping"][kept][0] - text.rfind(prompt)
    return prompt[max(0, start) :].strip()
