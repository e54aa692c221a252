"""The models Accel UI knows: tuned presets, licence, and the size of each component.

Sizes are bytes of tensors as stored. Sources, November 2026: parameter counts of diffusers 0.42.1 and
transformers 5.24 classes built from the public configs on the meta device, times the bytes of the stored
dtype; they agree with the published `metadata.total_size` of FLUX.1-schnell's T5 and transformer and of
Qwen3-4B, and with the file sizes that the Hugging Face file pages show, less each file's JSON header.
They serve tests and explanations; a real start reads the safetensors headers (`weights.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from accel_ui.presets import Preset


@dataclass(frozen=True)
class KnownModel:
    """A model with presets tuned for it.

    Attributes:
        id: Hugging Face id, or ``tiny``.
        title: what the page shows.
        presets: the first one is the default.
        size_factor: pixels that height and width must be divisible by.
        component_bytes: tensor bytes of each component, as stored.
        licence: name of the licence.
        gated: whether its page asks for an agreement before the download.
        examples: prompts that show it at its best.
    """

    id: str
    title: str
    presets: tuple[Preset, ...]
    size_factor: int
    component_bytes: Mapping[str, int] = field(default_factory=dict)
    licence: str = ""
    gated: bool = False
    examples: tuple[str, ...] = ()


def _presets(
    square: int, long: int, short: int, draft: int, steps: int, draft_steps: int, **numbers
) -> tuple[Preset, ...]:
    return (
        Preset("square", "Square", square, square, steps, **numbers),
        Preset("landscape", "Landscape", short, long, steps, **numbers),
        Preset("portrait", "Portrait", long, short, steps, **numbers),
        Preset("draft", "Draft", draft, draft, draft_steps, **numbers),
    )


GENERAL_EXAMPLES = (
    "A lighthouse on a cliff at dawn, long exposure, soft light",
    "An astronaut reading a newspaper in a small café, watercolour",
    "A red fox in fresh snow, photograph, shallow depth of field",
)

TINY = KnownModel(
    id="tiny",
    title="Embedded landscapes",
    presets=(
        Preset("square", "Square", 128, 128, 8, max_sequence_length=32, true_cfg_scale=3.0),
        Preset("landscape", "Landscape", 96, 160, 8, max_sequence_length=32, true_cfg_scale=3.0),
        Preset("portrait", "Portrait", 160, 96, 8, max_sequence_length=32, true_cfg_scale=3.0),
        Preset("draft", "Draft", 128, 128, 4, max_sequence_length=32),
        Preset("large", "Large", 128, 192, 8, max_sequence_length=32, true_cfg_scale=3.0),
    ),
    size_factor=16,
    licence="Apache-2.0",
    examples=(
        "A red house in the middle on green hills at night, a full moon",
        "A yellow sailboat on the left on the sea at sunset",
        "A blue hot air balloon on the right over snowy mountains on a sunny day",
        "A purple tent in the middle in a flower meadow under a stormy sky, rain",
        "A white lighthouse on the left and a red sailboat on the right, on the sea at dawn",
        "A pink windmill in the middle in a flower meadow, a rainbow",
    ),
)

# Flags and defaults from the model cards and diffusers' documentation (api/pipelines/flux, sdxl_turbo, sana_sprint).
FLUX_SCHNELL = KnownModel(
    id="black-forest-labs/FLUX.1-schnell",
    title="FLUX.1 [schnell]",
    presets=_presets(1024, 1344, 768, 512, 4, 2, guidance_scale=0.0, max_sequence_length=256),
    size_factor=16,
    component_bytes={
        "transformer": 23_782_357_120,
        "text_encoder": 246_120_960,
        "text_encoder_2": 9_524_621_312,
        "vae": 167_639_366,
    },
    licence="Apache-2.0",
    gated=True,
    examples=GENERAL_EXAMPLES,
)
FLUX2_KLEIN = KnownModel(
    id="black-forest-labs/FLUX.2-klein-4B",
    title="FLUX.2 [klein] 4B",
    presets=_presets(1024, 1344, 768, 512, 4, 4, guidance_scale=1.0, max_sequence_length=512),
    size_factor=16,
    component_bytes={"transformer": 7_751_089_152, "text_encoder": 8_044_936_192, "vae": 168_092_750},
    licence="Apache-2.0",
    examples=GENERAL_EXAMPLES,
)
SD_TURBO = KnownModel(
    id="stabilityai/sd-turbo",
    title="SD-Turbo",
    presets=_presets(512, 640, 384, 512, 2, 1, guidance_scale=0.0, max_sequence_length=77),
    size_factor=8,
    component_bytes={"unet": 3_463_642_896, "text_encoder": 1_361_551_360, "vae": 334_615_452},
    licence="Stability AI Community",
    examples=GENERAL_EXAMPLES,
)
SDXL_TURBO = KnownModel(
    id="stabilityai/sdxl-turbo",
    title="SDXL-Turbo",
    presets=_presets(512, 640, 384, 512, 4, 1, guidance_scale=0.0, max_sequence_length=77),
    size_factor=8,
    component_bytes={
        "unet": 10_269_854_736,
        "text_encoder": 492_241_920,
        "text_encoder_2": 2_778_639_360,
        "vae": 334_615_452,
    },
    licence="Stability AI Non-Commercial",
    examples=GENERAL_EXAMPLES,
)
SD35_MEDIUM = KnownModel(
    id="stabilityai/stable-diffusion-3.5-medium",
    title="Stable Diffusion 3.5 Medium",
    presets=_presets(1024, 1216, 832, 512, 40, 20, guidance_scale=4.5, max_sequence_length=256),
    size_factor=16,
    component_bytes={
        "transformer": 4_939_327_872,
        "text_encoder": 247_300_608,
        "text_encoder_2": 1_389_319_680,
        "text_encoder_3": 9_524_621_312,
        "vae": 167_639_366,
    },
    licence="Stability AI Community",
    gated=True,
    examples=GENERAL_EXAMPLES,
)
SANA_SPRINT = KnownModel(
    id="Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers",
    title="Sana Sprint 1.6B",
    # Two steps everywhere: the pipeline refuses another number without a schedule of its own.
    presets=_presets(1024, 1216, 832, 512, 2, 2, guidance_scale=4.5, max_sequence_length=300),
    size_factor=32,
    component_bytes={"transformer": 3_220_474_944, "text_encoder": 5_228_683_776, "vae": 1_249_001_100},
    licence="NVIDIA Source Code License v2 (custom)",
    examples=GENERAL_EXAMPLES,
)

CATALOGUE: dict[str, KnownModel] = {
    model.id: model for model in (TINY, FLUX_SCHNELL, FLUX2_KLEIN, SD_TURBO, SDXL_TURBO, SD35_MEDIUM, SANA_SPRINT)
}
