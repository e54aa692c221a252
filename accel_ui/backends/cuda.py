"""NVIDIA and AMD GPUs: torch calls both `cuda`."""

from __future__ import annotations

from pathlib import Path

from accel_ui.backends.base import Backend, Detection
from accel_ui.torchrun import launch


class CudaBackend(Backend):
    name = "cuda"
    shares_with_child = True
    offloads = True
    collectives = "nccl"  # RCCL answers to that name too

    def environment(self, cache_dir: Path) -> dict[str, str]:
        # Asks NVML whether a GPU is there, so that looking for one opens no CUDA context.
        return {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}

    def detect(self) -> Detection:
        import torch

        if torch.version.cuda is None and torch.version.hip is None:
            return Detection(False, "this torch was built without CUDA and ROCm")
        try:
            if not torch.cuda.is_available():
                return Detection(False, "no CUDA or ROCm device answers; `nvidia-smi` or `rocm-smi` tells more")
            index = launch().local_rank % torch.cuda.device_count()
            free, total = torch.cuda.mem_get_info(index)
            name = torch.cuda.get_device_name(index)
        except RuntimeError as error:
            return Detection(False, f"the GPU does not answer: {str(error).splitlines()[0]}")
        return Detection(
            True,
            f"{torch.cuda.device_count()} x {name}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free",
            device=f"cuda:{index}",
            name=name,
            memory=free,
        )

    def best_dtype(self) -> tuple[str, str]:
        import torch

        if torch.cuda.is_bf16_supported(including_emulation=False):
            return "bfloat16", "the GPU computes it natively, with float32's range"
        return "float16", "the GPU has no native bfloat16"

    def use_device(self, device: str) -> None:
        import torch

        torch.cuda.set_device(device)

    def synchronize(self) -> None:
        import torch

        torch.cuda.synchronize()

    def memory_in_use(self) -> int | None:
        import torch

        return torch.cuda.memory_reserved()

    def release_memory(self) -> None:
        import torch

        torch.cuda.empty_cache()

    def fingerprint(self) -> dict[str, str]:
        import torch

        return {
            **super().fingerprint(),
            "gpu": torch.cuda.get_device_name(0),
            "capability": ".".join(map(str, torch.cuda.get_device_capability(0))),
            "toolkit": str(torch.version.cuda or torch.version.hip),
        }

    def explain(self, error: BaseException) -> str | None:
        import torch

        if isinstance(error, torch.OutOfMemoryError):
            return (
                "The GPU is out of memory: choose a smaller preset, or end other programs that use it "
                "(`nvidia-smi` or `rocm-smi` lists them)."
            )
        return None
