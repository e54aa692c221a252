"""Apple GPUs (Metal)."""

from __future__ import annotations

from pathlib import Path

from accel_ui.backends.base import Backend, Detection


class MpsBackend(Backend):
    name = "mps"

    def environment(self, cache_dir: Path) -> dict[str, str]:
        return {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}  # ops that Metal lacks run on the CPU in place of an error

    def detect(self) -> Detection:
        import torch

        if not torch.backends.mps.is_built():
            return Detection(False, "this torch was built without Metal")
        if not torch.backends.mps.is_available():
            return Detection(False, "no Metal device answers (macOS 12.3 or newer on Apple silicon is needed)")
        memory = torch.mps.recommended_max_memory()
        return Detection(True, f"Apple GPU, {memory / 2**30:.1f} GiB recommended at most", "mps", "Apple GPU", memory)

    def best_dtype(self) -> tuple[str, str]:
        return "bfloat16", "half the memory of float32; float16 overflows in some VAEs"

    def synchronize(self) -> None:
        import torch

        torch.mps.synchronize()

    def memory_in_use(self) -> int | None:
        import torch

        return torch.mps.driver_allocated_memory()

    def release_memory(self) -> None:
        import torch

        torch.mps.empty_cache()

    def explain(self, error: BaseException) -> str | None:
        if isinstance(error, RuntimeError) and "MPS backend out of memory" in str(error):
            return "The Apple GPU is out of memory: choose a smaller preset, or close other programs."
        return None
