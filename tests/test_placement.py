"""The plan, as pure data: made-up memory sizes against the real component sizes of two FLUX models."""

from __future__ import annotations

import re

import pytest

from accel_ui.catalogue import FLUX2_KLEIN, FLUX_SCHNELL
from accel_ui.placement import DoesNotFit, fits_at, plan, show_bytes
from accel_ui.sharding import CannotDivide, Sharding
from accel_ui.weights import ComponentSize

GB = 10**9
MODELS = {"schnell": FLUX_SCHNELL, "klein": FLUX2_KLEIN}
DEGREES = (2, 3, 4, 6, 8, 12, 24)
SHARDING = {
    "schnell": Sharding("FluxTransformer2DModel", DEGREES, 24, 0.724),
    "klein": Sharding("Flux2Transformer2DModel", DEGREES, 24, 0.950),
}


def sizes(model: str) -> list[ComponentSize]:
    return [ComponentSize(name, {"BF16": count // 2}) for name, count in MODELS[model].component_bytes.items()]


def on_cuda(model: str, memory: int, **options):
    return plan(sizes(model), device="cuda:0", memory=memory * GB, dtype="bfloat16", offloads=True, **options)


def on_tpu(model: str, memory: float, dtype: str = "bfloat16", **options):
    options = {"sharding": lambda: SHARDING[model], **options}
    return plan(sizes(model), device="tpu:0", memory=int(memory * GB), dtype=dtype, **options)


def homes(placement) -> dict[str, str]:
    return {assignment.component: assignment.device for assignment in placement.assignments}


@pytest.mark.parametrize(
    ("model", "memory", "strategy"),
    [
        ("schnell", 8, "sequential offload"),
        ("schnell", 16, "sequential offload"),
        ("schnell", 24, "sequential offload"),
        ("schnell", 32, "split"),
        ("schnell", 80, "whole"),
        ("schnell", 96, "whole"),
        ("klein", 8, "sequential offload"),
        ("klein", 16, "split"),
        ("klein", 24, "whole"),
        ("klein", 32, "whole"),
        ("klein", 80, "whole"),
        ("klein", 96, "whole"),
    ],
)
def test_gpu(model, memory, strategy):
    placement = on_cuda(model, memory)
    assert placement.strategy == placement.decision.value == strategy
    assert placement.offloaded == ("offload" in strategy)
    expected = {
        name: "cpu" if "offload" in strategy or (strategy == "split" and name.startswith("text_encoder")) else "cuda:0"
        for name in MODELS[model].component_bytes
    }
    assert homes(placement) == expected
    there = sum(count for name, count in MODELS[model].component_bytes.items() if expected[name] == "cuda:0")
    assert placement.device_bytes == there
    assert there < memory * GB
    assert all(assignment.reason for assignment in placement.assignments)
    assert f"{memory:.1f} GB can be used on cuda:0" in placement.decision.reason


@pytest.mark.parametrize(
    ("model", "memory", "strategy"),
    [("schnell", 32, "split"), ("schnell", 80, "whole"), ("schnell", 96, "whole"), ("klein", 16, "split"),
     ("klein", 24, "whole"), ("klein", 32, "whole"), ("klein", 80, "whole"), ("klein", 96, "whole")],
)  # fmt: skip
def test_device_without_offload(model, memory, strategy):
    placement = on_tpu(model, memory)
    assert placement.strategy == strategy
    encoders = {device for name, device in homes(placement).items() if name.startswith("text_encoder")}
    assert encoders == {"cpu" if strategy == "split" else "tpu:0"}
    assert homes(placement)["transformer"] == homes(placement)["vae"] == "tpu:0"


@pytest.mark.parametrize(("model", "memory"), [("schnell", 16), ("schnell", 24), ("klein", 8)])
def test_device_without_offload_refuses_and_names_what_would_fit(model, memory):
    with pytest.raises(DoesNotFit) as error:
        on_tpu(model, memory)
    message = str(error.value)
    assert f"{memory}.0 GB can be used on tpu:0" in message
    for way_out in ("a smaller model", "a device with at least", "devices with torchrun"):
        assert way_out in message


@pytest.mark.parametrize(
    ("model", "memory", "dtype"),
    [("schnell", 16, "bfloat16"), ("klein", 8, "bfloat16"), ("schnell", 24, "float32"), ("schnell", 32, "float32")],
)
def test_device_that_the_refusal_names_is_large_enough(model, memory, dtype):
    with pytest.raises(DoesNotFit) as error:
        on_tpu(model, memory, dtype)
    named = float(re.search(r"at least ([\d.]+) GB", str(error.value))[1])
    assert on_tpu(model, named + 0.05, dtype).strategy == "split"  # it is rounded to 0.1 GB


@pytest.mark.parametrize("memory", [0.5, 2, 8])
def test_refusal_never_asks_for_an_absurd_number_of_devices(memory):
    with pytest.raises(DoesNotFit) as error:
        on_tpu("schnell", memory)
    number = re.search(r"(\d+) devices", str(error.value))
    assert number is None or 2 <= int(number[1]) <= 64


@pytest.mark.parametrize(("model", "memory"), [("schnell", 16), ("schnell", 24), ("klein", 8), ("klein", 10)])
def test_number_of_devices_that_the_refusal_names_is_the_least_that_is_enough(model, memory):
    with pytest.raises(DoesNotFit) as error:
        on_tpu(model, memory)
    named = int(re.search(r"(\d+) devices with torchrun", str(error.value))[1])
    assert on_tpu(model, memory, degree=named).strategy == "split"
    for fewer in [degree for degree in DEGREES if degree < named]:
        with pytest.raises(DoesNotFit, match="one of"):
            on_tpu(model, memory, degree=fewer)


def test_what_is_not_divided_is_on_each_device():
    """FLUX.1's modulation layers, more than a quarter of its weights, are not divided."""
    alone, shared = on_tpu("schnell", 80), on_tpu("schnell", 80, degree=8)
    there = {assignment.component: assignment.bytes for assignment in shared.assignments}
    whole = MODELS["schnell"].component_bytes
    assert there["transformer"] == pytest.approx(whole["transformer"] * (0.276 + 0.724 / 8), rel=1e-6)
    assert {name: there[name] for name in there if name != "transformer"} == {
        name: count for name, count in whole.items() if name != "transformer"
    }
    assert shared.device_bytes < alone.device_bytes


def test_table_of_devices_says_which_fit():
    memory = {"device": "neuron:0", "memory": 24 * GB, "dtype": "bfloat16"}
    said = fits_at((1, 2, 4, 8), sizes("schnell"), sharding=SHARDING["schnell"], **memory)
    assert [words.split(":")[0] for words in said.values()] == ["no", "yes, split", "yes, whole", "yes, whole"]


@pytest.mark.parametrize("degree", [5, 16])
def test_number_of_devices_that_does_not_divide_the_heads_is_refused_with_those_that_do(degree):
    with pytest.raises(CannotDivide, match=rf"{degree} devices .* 24 attention heads: .* 2, 3, 4, 6, 8, 12 or 24\."):
        on_tpu("schnell", 80, degree=degree)


def test_model_that_diffusers_cannot_divide_is_refused():
    with pytest.raises(CannotDivide, match=r"cannot divide UNet2DConditionModel .* start one with `python app.py`"):
        on_tpu("schnell", 80, degree=2, sharding=lambda: Sharding("UNet2DConditionModel"))


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (8, "transformer alone needs 23.8 GB of weights and 2.7 GB of head-room"),
        (32, "all together need 33.7 GB of weights and 3.2 GB of head-room"),
        (80, "33.7 GB of weights and 8.0 GB of head-room"),
    ],
)
def test_reason_has_the_numbers(memory, words):
    assert words in on_cuda("schnell", memory).decision.reason


def test_reason_of_each_component_says_why_it_is_there():
    reasons = {assignment.component: assignment.reason for assignment in on_cuda("schnell", 32).assignments}
    assert "every step" in reasons["transformer"]
    assert "decodes" in reasons["vae"]
    assert "do not fit" in reasons["text_encoder"]
    assert "encoded once" in reasons["text_encoder_2"]


def test_model_offload_where_each_component_fits_alone():
    """Of the two FLUX models none has a VAE so large that it and the denoiser fit only one after the other."""
    big_vae = [ComponentSize("transformer", {"BF16": 4 * GB}), ComponentSize("vae", {"BF16": 4 * GB})]
    placement = plan(big_vae, device="cuda:0", memory=12 * GB, dtype="bfloat16", offloads=True)
    assert placement.strategy == "model offload"
    assert "each component fits alone" in placement.decision.reason
    assert all("moves to cuda:0 while it runs" in assignment.reason for assignment in placement.assignments)


def test_text_encoders_go_to_the_cpu_when_asked():
    placement = on_cuda("schnell", 96, text_encoder_device="cpu")
    assert placement.strategy == "split"
    assert homes(placement)["text_encoder_2"] == "cpu"
    assert "ACCEL_UI_TEXT_ENCODER_DEVICE asks for it" in placement.decision.reason


def test_text_encoders_on_the_device_when_asked_and_too_large_are_refused():
    assert on_tpu("schnell", 80, text_encoder_device="device").strategy == "whole"
    with pytest.raises(DoesNotFit, match=r"ACCEL_UI_TEXT_ENCODER_DEVICE=device.*set it to auto"):
        on_tpu("schnell", 32, text_encoder_device="device")


@pytest.mark.parametrize("offloads", [True, False])
def test_wish_about_text_encoders_changes_nothing_where_there_are_none(offloads):
    """OmniGen reads the prompt with its transformer."""
    placement = plan(
        [ComponentSize("transformer", {"BF16": 4 * GB}), ComponentSize("vae", {"BF16": GB // 10})],
        device="cuda:0", memory=80 * GB, dtype="bfloat16", offloads=offloads, text_encoder_device="cpu",
    )  # fmt: skip
    assert set(homes(placement).values()) == {"cuda:0"}


def test_float32_takes_twice_the_room():
    assert on_tpu("klein", 24).strategy == "whole"
    assert on_tpu("klein", 24, "float32").strategy == "split"


def test_cpu_alone():
    placement = plan(sizes("klein"), device="cpu", memory=64 * GB, dtype="float32")
    assert (placement.strategy, set(homes(placement).values())) == ("whole", {"cpu"})
    with pytest.raises(DoesNotFit, match="a smaller model or a machine with more memory"):
        plan(sizes("schnell"), device="cpu", memory=16 * GB, dtype="float32")


def test_unknown_memory_is_said():
    placement = on_tpu("schnell", 0)
    assert placement.strategy == "whole"
    assert "the memory of tpu:0 is unknown" in placement.decision.reason


def test_small_model_needs_little_head_room():
    tiny = [ComponentSize("transformer", {"F32": 5_500_000})]
    assert plan(tiny, device="cuda:0", memory=GB, dtype="float32").strategy == "whole"


def test_component_without_weights_has_no_place():
    assert on_cuda("klein", 80).device_of("tokenizer") is None


@pytest.mark.parametrize(
    ("count", "text"), [(23_782_357_120, "23.8 GB"), (167_639_366, "0.2 GB"), (11_000_000, "11.0 MB")]
)
def test_bytes_are_shown_as_model_pages_do(count, text):
    assert show_bytes(count) == text
