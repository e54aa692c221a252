"""What a graph sees of a call: a description that can be compared and kept as JSON.

Artifacts keep no guards but those on tensors, so a changed number or flag would give a wrong picture in
silence. This description covers both: tensors by dtype, shape, strides and device, everything else by value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

Description = dict[str, str]


def describe(args: tuple, kwargs: dict[str, Any]) -> Description:
    """`{"hidden_states": "float32[1, 64, 48] on cpu", "return_dict": "False", ...}`"""
    description = {}
    for path, value in _leaves("", kwargs):
        description[path] = _one(value)
    for path, value in _leaves("argument ", dict(enumerate(args))):
        description[path] = _one(value)
    return description


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix and not prefix.endswith(" ") else f"{prefix}{key}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(f"{prefix}[{index}]", item)
    else:
        yield prefix, value


def _one(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        text = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} on {value.device.type}"
        return text if value.is_contiguous() else f"{text}, strides {list(value.stride())}"
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        return repr(value)
    return type(value).__qualname__


def difference(expected: Description, actual: Description) -> str | None:
    """The first thing in which a call differs from the one a graph was made for, in words; None when nothing does."""
    for name in [*expected, *actual]:
        before, now = expected.get(name, "absent"), actual.get(name, "absent")
        if before != now:
            return f"{name} is {now}, and the graph was made for {before}"
    return None


def own_storage(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The same tensors as new ones would be: contiguous, from the start of a storage of their own. Others are copied.

    Some pipelines pass ``timesteps[i]`` or ``t.expand(batch)`` as they are, and a repeated block gets slices of what the
    block before it returned, where the first one does not. Dynamo and torch_tpu guard strides and the storage offset,
    even the stride of a dimension of size 1, which says nothing: each step, or block, would be another graph.
    """

    def owned(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.storage_offset() or not value.is_contiguous():
                value = value.clone(memory_format=torch.contiguous_format)
            strides = tuple(math.prod(value.shape[i + 1 :]) for i in range(value.dim()))
            return value if value.stride() == strides or not value.numel() else value.as_strided(value.shape, strides)
        if type(value) is dict:
            return {name: owned(item) for name, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(owned, value))
        return value

    return owned(args), owned(kwargs)
