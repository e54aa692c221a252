"""Pictures and graphs of whole pipelines on the device, beside those of the CPU."""

from __future__ import annotations

import pytest

from .scenarios import compare

FLOAT32_BOUND = 2e-6  # diffusers computes rotary embeddings in float32 on neuron, in float64 on the CPU
WHOLE, SPLIT = "device", "cpu"  # where the text encoders are
BLOCKS = "blocks"  # of modes: ACCEL_UI_COMPILE_BLOCKS=1
DENOISER = {
    "flux": ["transformer"],
    "klein": ["transformer"],
    "sdxl": ["unet"],
    "sd3": ["transformer"],
    "tiny": ["transformer"],
}
REPEATED = {
    "flux": ["transformer.FluxTransformerBlock", "transformer.FluxSingleTransformerBlock"],
    "klein": ["transformer.Flux2TransformerBlock", "transformer.Flux2SingleTransformerBlock"],
    # two levels down, the middle, two levels up: each has its own width or number of tokens
    "sdxl": ["unet.BasicTransformerBlock", *(f"unet.BasicTransformerBlock.{number}" for number in range(2, 6))],
}
CASES = [
    ("flux", "bfloat16", WHOLE, "eager"),
    ("flux", "bfloat16", WHOLE, "compile"),
    ("flux", "float32", SPLIT, BLOCKS),
    ("klein", "bfloat16", WHOLE, "compile"),
    ("klein", "float32", SPLIT, "eager"),
    ("klein", "bfloat16", SPLIT, BLOCKS),
    ("sdxl", "bfloat16", WHOLE, "compile"),
    ("sdxl", "float32", SPLIT, BLOCKS),
    ("sd3", "bfloat16", SPLIT, "compile"),
    ("tiny", "float32", WHOLE, "compile"),
    ("tiny", "bfloat16", SPLIT, "eager"),
]


@pytest.mark.parametrize(("model", "dtype", "encoders", "mode"), CASES)
def test_picture_is_that_of_the_cpu_and_each_preset_has_its_graphs(in_process, tmp_path, model, dtype, encoders, mode):
    presets = ["square", "guided"] if model in ("flux", "tiny") else ["guided"]
    found = in_process(
        compare,
        folder=tmp_path,
        model=model,
        presets=presets,
        dtype=dtype,
        text_encoder_device=encoders,
        mode="compile" if mode == BLOCKS else mode,
        compile_blocks=mode == BLOCKS,
    )
    bound = 0.0 if dtype == "bfloat16" else FLOAT32_BOUND
    assert all(difference <= bound for difference in found["differences"].values()), found["differences"]

    targets = [] if mode == "eager" else [*(REPEATED if mode == BLOCKS else DENOISER)[model], "vae"]
    expected = {preset: dict.fromkeys(targets, 1) for preset in presets} if targets else {}
    assert found["ledger"] == expected
    assert found["graphs"] == len(presets) * len(targets)  # the compiler's own count
    assert found["graphs_afterwards"] == 0
    assert found["states"] == dict.fromkeys(presets, "ready" if targets else "eager")

    for name, place in found["devices"].items():
        assert place == ("cpu" if encoders == SPLIT and name.startswith("text_encoder") else "neuron"), name
    assert "torch.float64" not in found["dtypes"]
