"""The two ways to a graph: ahead of time (kept as a file), and just in time."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

MINIMUM_TORCH = "2.13"


def torch_obstacle() -> str | None:
    """Why this torch cannot give the guarantee of one graph, in words; None when it can."""
    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:
        return None
    return f"torch {torch.__version__} cannot hold a preset to one graph; torch {MINIMUM_TORCH} or newer can"


def keep_tensor_guards(entries) -> list[bool]:
    """Keeps the guards on input tensors. The others cannot be stored; `inputs.describe` and the key stand in for them.

    A guard on a module's own weight or buffer (Stable Diffusion 3 has one for positions) would store the module.
    """
    return [
        entry.guard_type == "TENSOR_MATCH"
        and not isinstance(entry.value, torch.nn.Parameter)
        and "_buffers[" not in entry.name
        for entry in entries
    ]


class Compiler:
    """Compiles for one torch.compile backend and counts its graphs.

    Args:
        backend: name of the torch.compile backend.
        artifact_options: what it needs so that its graphs can be kept.
        keeps_artifacts: whether they can be kept at all.
    """

    def __init__(self, backend: str, artifact_options: dict[str, Any] | None = None, keeps_artifacts: bool = True):
        self.backend = backend
        self.keeps_artifacts = keeps_artifacts and hasattr(torch.compiler, "load_compiled_function")
        self._artifact_options = artifact_options or {}
        self.graphs = 0

    def _count(self, graph: torch.fx.GraphModule, inputs: list, **options: Any) -> Callable:
        self.graphs += 1
        return torch._dynamo.lookup_backend(self.backend)(graph, inputs, **options)

    def ahead_of_time(self, function: Callable, args: tuple, kwargs: dict) -> Callable:
        """Compiles `function` for these very arguments. The result has ``save_compiled_function(path)``."""
        options = {"guard_filter_fn": keep_tensor_guards, **self._artifact_options}
        compiled = torch.compile(function, backend=self._count, fullgraph=True, dynamic=False, options=options)
        return compiled.aot_compile((args, kwargs))

    def just_in_time(self, function: Callable) -> Callable:
        """A callable of its own that compiles at its first call, and that Dynamo holds to one graph."""
        return torch.compile(
            function,
            backend=self._count,
            fullgraph=True,
            dynamic=False,
            recompile_limit=1,
            isolate_recompiles=True,
        )

    @staticmethod
    def load(path: str) -> Callable:
        """Reads what ``save_compiled_function`` wrote. It is a pickle: only for files of our own."""
        with open(path, "rb") as file:
            return torch.compiler.load_compiled_function(file)
