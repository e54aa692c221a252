"""The device families, in the order in which `auto` tries them."""

from __future__ import annotations

from accel_ui.backends.base import Backend, Detection
from accel_ui.backends.cpu import CpuBackend
from accel_ui.backends.cuda import CudaBackend
from accel_ui.backends.mps import MpsBackend
from accel_ui.backends.neuron import NeuronBackend
from accel_ui.backends.tpu import TpuBackend
from accel_ui.backends.xpu import XpuBackend
from accel_ui.backends.zerogpu import ZeroGpuBackend, on_zerogpu
from accel_ui.decisions import Decision
from accel_ui.errors import UserError

__all__ = ["BACKENDS", "Backend", "Detection", "DeviceNotFound", "choose_backend", "detect_all"]

BACKENDS: tuple[Backend, ...] = (
    TpuBackend(),
    NeuronBackend(),
    ZeroGpuBackend() if on_zerogpu() else CudaBackend(),
    XpuBackend(),
    MpsBackend(),
    CpuBackend(),
)


class DeviceNotFound(UserError):
    """The device that the user asked for cannot be used."""


def detect_all() -> dict[str, Detection]:
    """What each family says about this machine."""
    return {backend.name: backend.detect() for backend in BACKENDS}


def choose_backend(wanted: str) -> tuple[Backend, Detection, Decision]:
    """The family for ACCEL_UI_DEVICE=`wanted`.

    Raises:
        DeviceNotFound: when `wanted` names a family that is not there.
    """
    passed_over = []
    for backend in BACKENDS:
        if wanted not in ("auto", backend.name):
            continue
        detection = backend.detect()
        if detection.available:
            reason = detection.reason
            if wanted != "auto":
                reason += "; ACCEL_UI_DEVICE asks for it"
            elif backend.name == "cpu":
                reason += "; no accelerator: " + "; ".join(passed_over)
            return backend, detection, Decision("device", backend.name, reason)
        passed_over.append(f"{backend.name}: {detection.reason}")
    raise DeviceNotFound(
        f"ACCEL_UI_DEVICE={wanted}, but {passed_over[0].split(': ', 1)[1]}. Set ACCEL_UI_DEVICE=auto to use what is there."
    )
