"""What a graph sees of a call: two calls that need different graphs never look alike."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch

from accel_ui.compilation.inputs import describe, difference, own_storage


def same(first, second) -> bool:
    return difference(describe((), {"value": first}), describe((), {"value": second})) is None


def test_tensors_are_described_by_dtype_shape_and_device():
    description = describe(
        (torch.zeros(2, 3), 5), {"hidden_states": torch.zeros(1, 64, 48, dtype=torch.bfloat16), "flag": None}
    )
    assert description == {
        "hidden_states": "bfloat16[1, 64, 48] on cpu",
        "flag": "None",
        "argument 0": "float32[2, 3] on cpu",
        "argument 1": "5",
    }
    assert json.loads(json.dumps(description)) == description


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (torch.zeros(1, 64, 48), torch.zeros(1, 65, 48)),
        (torch.zeros(4), torch.zeros(4, dtype=torch.float16)),
        (torch.zeros(4), torch.zeros(4, device="meta")),
        (torch.zeros(4, 4), torch.zeros(4, 4).T),
        (torch.zeros(1), torch.zeros(())),
        (torch.zeros(1), None),
        (torch.zeros(1), 0.0),
        (1.0, 2.0),
        (1, True),
        (1, "1"),
        (1, 1.0),
        (None, False),
        ("bilinear", "nearest"),
        ([torch.zeros(1)], [torch.zeros(1)] * 2),
        ({"text_embeds": torch.zeros(1, 4)}, {"text_embeds": torch.zeros(1, 5)}),
        ({"scale": 1.0}, {"scale": 0.5}),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}),
        ({}, None),
        (torch.float32, torch.float16),
        (torch.device("cpu"), torch.device("meta")),
    ],
    ids=str,
)
def test_difference_that_matters_is_found(first, second):
    assert not same(first, second)
    assert not same(second, first)
    assert same(first, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (torch.zeros(4), torch.ones(4)),
        (torch.tensor(999.0), torch.tensor(1.0)),
        ([torch.zeros(2), None], (torch.ones(2), None)),
        (float("nan"), float("nan")),
        (SimpleNamespace(a=1), SimpleNamespace(a=1)),
    ],
    ids=str,
)
def test_values_of_tensors_do_not_matter(first, second):
    assert same(first, second)


def test_difference_is_said_with_both_sides():
    made_for = describe((), {"hidden_states": torch.zeros(1, 64, 48), "return_dict": False})
    now = describe((), {"hidden_states": torch.zeros(1, 80, 48), "return_dict": False})
    assert difference(made_for, now) == (
        "hidden_states is float32[1, 80, 48] on cpu, and the graph was made for float32[1, 64, 48] on cpu"
    )


def test_nested_name_leads_to_the_value():
    before, now = ({"added_cond_kwargs": {"time_ids": [torch.zeros(1, size)]}} for size in (6, 5))
    assert difference(describe((), before), describe((), now)).startswith(
        "added_cond_kwargs.time_ids[0] is float32[1, 5]"
    )


@pytest.mark.parametrize("extra", ["guidance", "argument 1"])
def test_missing_or_new_argument_is_named(extra):
    less, more = describe((torch.zeros(1),), {}), describe((torch.zeros(1),), {})
    more[extra] = "1.0"
    assert difference(less, more) == f"{extra} is 1.0, and the graph was made for absent"
    assert difference(more, less) == f"{extra} is absent, and the graph was made for 1.0"


def test_view_gets_a_storage_of_its_own_and_keeps_its_values():
    timesteps = torch.tensor([999.0, 750.0, 500.0, 250.0])
    (positional,), named = own_storage((timesteps[2],), {"timestep": timesteps[3], "guidance": None, "n": 3})
    assert (positional.storage_offset(), named["timestep"].storage_offset()) == (0, 0)
    assert (positional.item(), named["timestep"].item()) == (500.0, 250.0)
    assert (named["guidance"], named["n"]) == (None, 3)


def test_whole_tensor_is_not_copied():
    latents = torch.zeros(4)
    (positional,), named = own_storage((latents,), {"latents": latents})
    assert positional is latents
    assert named["latents"] is latents


@pytest.mark.parametrize("wrap", [lambda view: [view], lambda view: {"time_ids": view}, lambda view: ({"a": [view]},)])
def test_view_inside_a_list_or_a_dict_gets_its_own_storage_too(wrap):
    """SDXL hands conditions over in a dict, Z-Image its latents in a list."""
    view = torch.arange(4.0)[2:]

    def offsets(value) -> list[int]:
        if isinstance(value, torch.Tensor):
            return [value.storage_offset()]
        return [offset for item in (value.values() if isinstance(value, dict) else value) for offset in offsets(item)]

    assert offsets([*own_storage((), {"value": wrap(view)})]) == [0]


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor(500.0).expand(2),  # a timestep for both halves of guidance
        torch.arange(24.0).reshape(2, 4, 3)[:, 1:],  # what is left of a joint sequence after the text
        torch.arange(12.0).reshape(1, 4, 3)[:, :2],  # contiguous, but for the stride of the dimension of size 1
        torch.arange(6.0).reshape(2, 3).T,
    ],
    ids=["expanded", "slice", "slice of one", "transposed"],
)
def test_every_layout_becomes_that_of_a_new_tensor(value):
    """Steps and blocks that differ in nothing else would each be another graph to Dynamo."""
    (got,), _ = own_storage((value,), {})
    assert torch.equal(got, value)
    assert (got.stride(), got.storage_offset()) == (torch.empty(value.shape).stride(), 0)
