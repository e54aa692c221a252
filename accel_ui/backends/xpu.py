"""Intel GPUs."""

from __future__ import annotations

from accel_ui.backends.base import Backend, Detection


class XpuBackend(Backend):
    name = "xpu"
    offloads = True

    def detect(self) -> Detection:
        import torch

        try:
            if not torch.xpu.is_available():
                return Detection(False, "no Intel GPU answers, or this torch was built without XPU")
            properties = torch.xpu.get_device_properties(0)
        except RuntimeError as error:
            return Detection(False, f"the Intel GPU does not answer: {str(error).splitlines()[0]}")
        return Detection(
            True,
            f"{torch.xpu.device_count()} x {properties.name}, {properties.total_memory / 2**30:.1f} GiB",
            device="xpu:0",
            name=properties.name,
            memory=properties.total_memory,
        )

    def best_dtype(self) -> tuple[str, str]:
        return "bfloat16", "native on Intel GPUs, with float32's range"

    def synchronize(self) -> None:
        import torch

        torch.xpu.synchronize()

    def memory_in_use(self) -> int | None:
        import torch

        return torch.xpu.memory_reserved()

    def release_memory(self) -> None:
        import torch

        torch.xpu.empty_cache()

    def fingerprint(self) -> dict[str, str]:
        import torch

        properties = torch.xpu.get_device_properties(0)
        return {**super().fingerprint(), "gpu": properties.name, "driver": properties.driver_version}

    def explain(self, error: BaseException) -> str | None:
        import torch

        if isinstance(error, torch.OutOfMemoryError):
            return "The Intel GPU is out of memory: choose a smaller preset, or end other programs that use it."
        return None
