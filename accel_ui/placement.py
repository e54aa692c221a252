"""Which component goes where, and why. Pure: numbers in, a plan out; nothing is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from accel_ui.decisions import Decision
from accel_ui.errors import UserError
from accel_ui.sharding import DIVIDED, Sharding
from accel_ui.weights import ComponentSize

GIB = 2**30

# Room that activations, the VAE's decode at full size and the allocator need beside the weights. A 1024 x 1024
# AutoencoderKL decode in bfloat16 peaks near 2.5 GiB; the share covers larger models' activations and fragmentation.
HEAD_ROOM_SHARE = 0.10
HEAD_ROOM_MIN = int(2.5 * GIB)
# A small model's activations are small too: head-room never asks for more than this many times the weights.
HEAD_ROOM_TIMES_WEIGHTS = 4

Strategy = Literal["whole", "split", "model offload", "sequential offload"]


class DoesNotFit(UserError):
    """The model is too large for this device."""


@dataclass(frozen=True)
class Assignment:
    """One component's place."""

    component: str
    device: str
    bytes: int
    reason: str


@dataclass(frozen=True)
class Placement:
    """The plan for a pipeline.

    Attributes:
        strategy: ``whole`` (everything on the device), ``split`` (text encoders on the CPU), ``model offload`` or
            ``sequential offload`` (diffusers moves components, or layers, in and out; runs eagerly).
        device_bytes: bytes of weights that stay on the device.
    """

    strategy: Strategy
    assignments: tuple[Assignment, ...]
    decision: Decision
    device_bytes: int

    @property
    def offloaded(self) -> bool:
        """Whether diffusers moves weights during a run, which rules out compiled graphs."""
        return self.strategy.endswith("offload")

    def device_of(self, component: str) -> str | None:
        """Torch device of `component`; None when it has no weights."""
        return next((a.device for a in self.assignments if a.component == component), None)


def head_room(memory: int, weights: int) -> int:
    """Bytes kept free beside `weights` on a device with `memory` bytes."""
    return min(max(HEAD_ROOM_MIN, int(memory * HEAD_ROOM_SHARE)), HEAD_ROOM_TIMES_WEIGHTS * weights)


def is_text_encoder(component: str) -> bool:
    """By the name that every diffusers pipeline gives them."""
    return component.startswith("text_encoder")


def show_bytes(count: int) -> str:
    """`23.8 GB` (decimal, as model pages write it) or `11 MB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def plan(
    sizes: Sequence[ComponentSize],
    *,
    device: str,
    memory: int,
    dtype: str,
    offloads: bool = False,
    text_encoder_device: Literal["auto", "cpu", "device"] = "auto",
    degree: int = 1,
    sharding: Callable[[], Sharding | None] = lambda: None,
) -> Placement:
    """Places the components of a pipeline.

    Args:
        sizes: the components with weights.
        device: torch device such as ``cuda:0``.
        memory: bytes of it that can be used; 0 when unknown (then everything goes there).
        dtype: what the weights are loaded as.
        offloads: whether diffusers' CPU offload works on the device; a model that devices share has none.
        text_encoder_device: ACCEL_UI_TEXT_ENCODER_DEVICE.
        degree: number of devices that share the denoiser; all the rest is on each of them.
        sharding: reads how the model can be divided; called when that matters, None when it is not known.

    Raises:
        DoesNotFit: naming what would fit.
        CannotDivide: when `degree` devices cannot share the model.
    """
    loaded = {size.name: size.bytes_as(dtype) for size in sizes}
    undivided = loaded.get(DIVIDED, 0)
    if degree > 1:
        offloads = False
        (parts := sharding() or Sharding("this model")).check(degree)
        loaded[DIVIDED] = parts.bytes_on_each(undivided, degree)
    encoders = {name: count for name, count in loaded.items() if is_text_encoder(name)}
    whole = sum(loaded.values())
    core = whole - sum(encoders.values())

    def fits(weights: int) -> bool:
        return not memory or weights + head_room(memory, weights) <= memory

    def need(weights: int) -> str:
        return f"{show_bytes(weights)} of weights and {show_bytes(head_room(memory, weights))} of head-room"

    def make(strategy: Strategy, reason: str, places: dict[str, tuple[str, str]]) -> Placement:
        assignments = tuple(Assignment(name, places[name][0], loaded[name], places[name][1]) for name in loaded)
        on_device = sum(a.bytes for a in assignments if a.device == device)
        return Placement(strategy, assignments, Decision("placement", strategy, reason), on_device)

    have = f"{show_bytes(memory)} can be used on {device}" if memory else f"the memory of {device} is unknown"
    if degree > 1:
        have += f", one of {degree} devices that share the {DIVIDED}"
    if device == "cpu":
        if not fits(whole):
            raise DoesNotFit(
                f"The model needs {need(whole)}, and {have}: choose a smaller model or a machine with more memory."
            )
        reason = f"{need(whole)}; {have}"
        return make("whole", reason, dict.fromkeys(loaded, ("cpu", "there is no other device")))

    if (text_encoder_device != "cpu" or not encoders) and fits(whole):
        reason = f"{need(whole)}; {have}"
        return make("whole", reason, dict.fromkeys(loaded, (device, "everything fits")))
    if text_encoder_device == "device" and not offloads:
        raise DoesNotFit(
            f"ACCEL_UI_TEXT_ENCODER_DEVICE=device, but the model needs {need(whole)}, and {have}: set it to auto."
        )

    if encoders and text_encoder_device != "device" and fits(core):
        why = "ACCEL_UI_TEXT_ENCODER_DEVICE asks for it" if text_encoder_device == "cpu" else "all together do not fit"
        places = {name: ("cpu", f"{why}; a prompt is encoded once") if name in encoders else (device, "runs at every step")
                  for name in loaded}  # fmt: skip
        if "vae" in places:
            places["vae"] = (device, "decodes every picture")
        reason = f"all together need {need(whole)}, the denoiser and the VAE {need(core)}; {have}"
        if text_encoder_device == "cpu":
            reason = f"{why}; the denoiser and the VAE need {need(core)}; {have}"
        return make("split", reason, places)

    largest = max(loaded, key=loaded.__getitem__)
    if offloads:
        reason = f"all together need {need(whole)}, the denoiser and the VAE {need(core)}; {have}"
        if fits(loaded[largest]):
            return make("model offload", f"{reason}; each component fits alone", dict.fromkeys(
                loaded, ("cpu", f"moves to {device} while it runs")))  # fmt: skip
        return make("sequential offload", f"{reason}; {largest} alone needs {need(loaded[largest])}", dict.fromkeys(
            loaded, ("cpu", f"its layers move to {device} one after another")))  # fmt: skip

    parts = sharding()
    rest = core - loaded.get(DIVIDED, 0)
    devices = (
        next((n for n in parts.degrees if fits(rest + parts.bytes_on_each(undivided, n))), None) if parts else None
    )
    parallel = f", or {devices} devices with torchrun" if devices else ""
    raise DoesNotFit(
        f"The denoiser and the VAE need {need(core)}, and {have}: choose a smaller model, "
        f"a device with at least {show_bytes(_smallest_memory(core))}{parallel}."
    )


def fits_at(
    degrees: Sequence[int], sizes: Sequence[ComponentSize], *, sharding: Sharding, **options: object
) -> dict[int, str]:
    """What :func:`plan` says of each number of devices, given the same arguments."""
    said = {}
    for degree in degrees:
        try:
            decision = plan(sizes, degree=degree, sharding=lambda: sharding, **options).decision
            said[degree] = f"yes, {decision.value}: {decision.reason}"
        except DoesNotFit as error:
            said[degree] = f"no: {error}"
    return said


def _smallest_memory(weights: int) -> int:
    """The least memory that holds `weights` and its head-room, which itself grows with the memory."""
    return max(weights + head_room(0, weights), int(weights / (1 - HEAD_ROOM_SHARE)))
