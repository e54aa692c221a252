"""Everything that is decided before a weight is loaded. `doctor` prints it, the manager acts on it."""

from __future__ import annotations

from dataclasses import dataclass

from accel_ui.backends import Backend, Detection, choose_backend
from accel_ui.catalogue import KnownModel
from accel_ui.decisions import Decision
from accel_ui.loading import LoadError, Model, missing_weights, read_sizes, resolve_model
from accel_ui.placement import Placement, plan
from accel_ui.presets import Preset, check_sizes, read_presets
from accel_ui.settings import Settings
from accel_ui.weights import ComponentSize


@dataclass(frozen=True)
class Survey:
    """The plan for one process.

    Attributes:
        presets: None for a model that the catalogue does not know: derived once it is loaded.
        eager_reason: why nothing is compiled; None in compile mode.
        cold: what a preset without a graph does: ``eager`` or ``compile``.
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


def survey(settings: Settings) -> Survey:
    """Looks at the machine and at the model's headers, and decides.

    Raises:
        LoadError, DamagedWeights, PresetError, DoesNotFit, DeviceNotFound: each one sentence for the user.
    """
    model = resolve_model(settings.model)
    presets = known_presets(settings, model.known)
    backend, detection, device = choose_backend(settings.device)
    dtype = _choose_dtype(settings, backend)
    sizes = read_sizes(model)
    missing_weights(sizes, model)
    placement = plan(
        sizes,
        device=detection.device,
        memory=detection.memory,
        dtype=dtype.value,
        offloads=backend.offloads,
        text_encoder_device=settings.text_encoder_device,
    )
    mode, eager_reason = _choose_mode(settings, backend, placement)
    cold = _choose_cold(settings, backend)
    decisions = [device, dtype, placement.decision, mode]
    if mode.value == "compile":
        decisions.append(cold)
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
        decisions=tuple(decisions),
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


def _choose_cold(settings: Settings, backend: Backend) -> Decision:
    if settings.cold != "auto":
        return Decision("cold presets", settings.cold, "ACCEL_UI_COLD asks for it")
    if backend.eager_at_once:
        return Decision("cold presets", "eager", "they answer at once and are compiled when the machine is idle")
    return Decision("cold presets", "compile", f"on {backend.name} eager mode itself compiles, op by op")
