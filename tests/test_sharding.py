"""What diffusers can divide of a model, read from a config on disk."""

from __future__ import annotations

import pytest
import torch
from diffusers import DiffusionPipeline

import tiny_pipelines
from accel_ui.loading import resolve_model
from accel_ui.sharding import read_sharding


@pytest.mark.parametrize(
    ("name", "heads", "degrees"), [("flux", 2, (2,)), ("klein-4-heads", 4, (2, 4)), ("sd3", 0, ()), ("sdxl", 0, ())]
)
def test_degrees_are_those_that_divide_the_heads(tmp_path, name, heads, degrees):
    sharding = read_sharding(resolve_model(str(tiny_pipelines.write(name, tmp_path))))
    assert (sharding.heads, sharding.degrees) == (heads, degrees)


def test_share_is_that_of_the_layers_in_the_plan(tmp_path):
    folder = str(tiny_pipelines.write("flux", tmp_path))
    sharding = read_sharding(resolve_model(folder))
    transformer = DiffusionPipeline.from_pretrained(folder).transformer
    divided = [
        parameter.numel()
        for name, parameter in transformer.named_parameters()
        if ("attn.to_" in name or "attn.add_" in name or "ff" in name or "proj_mlp" in name or "proj_out" in name)
        and "blocks" in name
        and not (name.endswith("bias") and any(part in name for part in ("to_out", "to_add_out", "net.2", "proj_out")))
    ]
    whole = sum(parameter.numel() for parameter in transformer.parameters())
    assert sharding.share == sum(divided) / whole
    assert sharding.bytes_on_each(4 * whole, 2) == 4 * whole - 4 * sum(divided) // 2
    assert not torch.distributed.is_initialized()
