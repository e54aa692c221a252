"""The plain CPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from accel_ui.backends.base import Backend, Detection

ALLOCATOR = ("not enough memory", "can't allocate memory")  # what torch's says on Windows and macOS, and on Linux


class CpuBackend(Backend):
    name = "cpu"
    shares_with_child = True

    def environment(self, cache_dir: Path) -> dict[str, str]:
        # OpenMP threads that wait by spinning lose the core to any other busy process: measured 10 s a picture
        # beside one background process on two cores, 0.5 s with waiting threads asleep.
        return {"OMP_WAIT_POLICY": "PASSIVE"}

    def detect(self) -> Detection:
        import psutil

        return Detection(
            True,
            f"every machine has one; {os.cpu_count()} cores",
            device="cpu",
            name="CPU",
            memory=psutil.virtual_memory().available,
        )

    def best_dtype(self) -> tuple[str, str]:
        return "float32", "half precision is slower on most CPUs"

    def compile_obstacle(self) -> str | None:
        from torch._inductor import cpp_builder, exc

        try:
            cpp_builder.get_cpp_compiler()
        except exc.InvalidCxxCompiler:
            return "no C++ compiler was found, and torch.compile needs one on the CPU: install g++ or set CXX"
        return None

    def synchronize(self) -> None:
        pass

    def memory_in_use(self) -> int | None:
        import psutil

        return psutil.Process().memory_info().rss

    def explain(self, error: BaseException) -> str | None:
        if isinstance(error, MemoryError) or any(words in str(error) for words in ALLOCATOR):
            return "This machine is out of memory: choose a smaller preset, or end other programs."
        return None

    def fingerprint(self) -> dict[str, str]:
        import torch

        return {
            **super().fingerprint(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "threads": str(torch.get_num_threads()),  # part of Inductor's kernels
            # Inductor finds its machine code by the compiler's command line, which names torch's own folder: from
            # another place it would compile again while the app loads, 20 s a graph, in place of behind it.
            "installation": sys.prefix,
        }
