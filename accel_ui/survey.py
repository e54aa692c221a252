"""Everything that is decided before a weight is loaded. `doctor` prints it, the manager acts on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from accel_ui.backends import Backend, Detection, choose_backend
from accel_ui.catalogue import KnownModel
from accel_ui.decisions import Decision
from accel_ui.loading import LoadError, Model, missing_weights, read_sizes, resolve_model
from accel_ui.placement import Placement, fits_at, plan
from accel_ui.presets import Preset, check_sizes, read_presets
from accel_ui.settings import Settings
from accel_ui.sharding import Sharding, read_sharding
from accel_ui.torchrun import launch
from accel_ui.weights import ComponentSize

DEGREES_SHOWN = (1, 2, 4, 8)

Machine = tuple[Backend, Detection, Decision]  # what choose_backend returns


@dataclass(frozen=True)
class Survey:
    """The plan for one process.

    Attributes:
        presets: None for a model that the catalogue does not know: derived once it is loaded.
        eager_reason: why nothing is compiled; None in compile mode.
        cold: what a preset without a graph does: ``eager`` or ``compile``.
        keeps_graphs: whether graphs are kept as files.
        degree: number of devices that share the denoiser.
        decisions: all of it in words.
    """

    model: Model
    backend: Backend
    detection: Detection
    dtype: str
    mode: str
    sizes: tuple[ComponentSize, ...]
    placement: Placement
    presets: tuple[Preset, ...] | None
    eager_reason: str | None
    cold: str
    keeps_graphs: bool
    degree: int
    decisions: tuple[Decision, ...]


def known_presets(settings: Settings, known: KnownModel | None) -> tuple[Preset, ...] | None:
    """The presets that can be named before the model is loaded.

    Raises:
        PresetError: a bad TOML file, or sizes that a known model cannot draw.
    """
    presets = read_presets(settings.presets) if settings.presets else (known.presets if known else None)
    if presets and known:
        check_sizes(presets, known.size_factor)
    return presets


def survey(settings: Settings, machine: Machine | None = None) -> Survey:
    """Looks at the machine and at the model's headers, and decides.

    Args:
        machine: what all devices that share the model have in common; None looks at this process's device alone.

    Raises:
        LoadError, DamagedWeights, PresetError, DoesNotFit, CannotDivide, DeviceNotFound: one sentence for the user.
    """
    model, degree = resolve_model(settings.model), launch().size
    presets = known_presets(settings, model.known)
    backend, detection, device = machine or choose_backend(settings.device)
    dtype = _choose_dtype(settings, backend)
    sizes = read_sizes(model)
    missing_weights(sizes, model)
    sharding = cache(lambda: read_sharding(model) if backend.collectives else None)
    placement = plan(
        sizes,
        device=detection.device,
        memory=detection.memory,
        dtype=dtype.value,
        offloads=backend.offloads,
        text_encoder_device=settings.text_encoder_device,
        degree=degree,
        sharding=sharding,
    )
    mode, eager_reason = _choose_mode(settings, backend, placement)
    cold = _choose_cold(settings, backend, degree)
    decisions = [device, dtype, placement.decision, mode]
    if mode.value == "compile":
        decisions.append(cold)
    if degree > 1:
        decisions += _say_parallel(degree, sharding())
    return Survey(
        model=model,
        backend=backend,
        detection=detection,
        dtype=dtype.value,
        mode=mode.value,
        sizes=tuple(sizes),
        placement=placement,
        presets=presets,
        eager_reason=eager_reason,
        cold=cold.value,
        keeps_graphs=backend.keeps_artifacts and degree == 1,
        degree=degree,
        decisions=tuple(decisions),
    )


def fits_by_degree(settings: Settings) -> dict[int, str]:
    """Whether the model fits on 1, 2, 4 and 8 of this machine's devices, in words; empty where it cannot be divided.

    Raises:
        LoadError, DamagedWeights, DeviceNotFound: one sentence for the user.
    """
    model = resolve_model(settings.model)
    backend, detection, _ = choose_backend(settings.device)
    if backend.collectives is None:
        return {}
    sizes, sharding = read_sizes(model), read_sharding(model)
    degrees = [degree for degree in DEGREES_SHOWN if degree == 1 or degree in sharding.degrees]
    return fits_at(
        degrees,
        sizes,
        sharding=sharding,
        device=detection.device,
        memory=detection.memory,
        dtype=_choose_dtype(settings, backend).value,
        offloads=backend.offloads,
        text_encoder_device=settings.text_encoder_device,
    )


def _choose_dtype(settings: Settings, backend: Backend) -> Decision:
    if settings.dtype != "auto":
        return Decision("dtype", settings.dtype, "ACCEL_UI_DTYPE asks for it")
    return Decision("dtype", *backend.best_dtype())


def _choose_mode(settings: Settings, backend: Backend, placement: Placement) -> tuple[Decision, str | None]:
    from accel_ui.compilation.compiler import torch_obstacle

    if settings.mode not in backend.modes:
        raise LoadError(
            f"ACCEL_UI_MODE={settings.mode} does not exist on {backend.name}: it has {', '.join(backend.modes)}."
        )
    if settings.mode != "compile":
        reason = f"ACCEL_UI_MODE={settings.mode}"
        return Decision("mode", settings.mode, reason), reason
    obstacle = backend.compile_obstacle() or torch_obstacle()
    if placement.offloaded:
        obstacle = f"{placement.strategy} moves weights during a run, which a compiled graph cannot follow"
    if obstacle:
        return Decision("mode", "eager", obstacle), obstacle
    reason = f"one {backend.compiler} graph per component and preset"
    return Decision("mode", "compile", reason), None


def _choose_cold(settings: Settings, backend: Backend, degree: int) -> Decision:
    if settings.cold != "auto":
        return Decision("cold presets", settings.cold, "ACCEL_UI_COLD asks for it")
    if degree > 1:
        return Decision("cold presets", "compile", "no other process can compile for devices that share a model")
    if backend.eager_at_once:
        return Decision("cold presets", "eager", "they answer at once and are compiled when the machine is idle")
    return Decision("cold presets", "compile", f"on {backend.name} eager mode itself compiles, op by op")


def _say_parallel(degree: int, sharding: Sharding) -> list[Decision]:
    heads = f"{sharding.heads // degree} of the {sharding.heads} attention heads of {sharding.model_class}"
    return [
        Decision("devices", str(degree), f"torchrun started {degree} processes; each has {heads}, and all the rest"),
        Decision(
            "kept graphs", "none", "they name the processes of this start; the compiler's own cache serves the next one"
        ),
    ]
