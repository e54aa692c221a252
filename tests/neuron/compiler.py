"""The Dynamo backend "neuron" of the emulated device: runs each graph as it is, under the rules of the real one."""

from __future__ import annotations

from collections.abc import Callable

import torch


class NeuronCompiler:
    """Counts its graphs.

    Attributes:
        graphs: what it compiled.
        fails_on: given a graph, whether the compiler should fail, as neuronx-cc does on some models.
    """

    def __init__(self, fails_on: Callable[[torch.fx.GraphModule], bool] = lambda graph: False):
        self.graphs: list[torch.fx.GraphModule] = []
        self.fails_on = fails_on

    def __call__(self, graph: torch.fx.GraphModule, inputs: list) -> Callable:
        """What torch.compile calls for a new graph.

        Raises:
            RuntimeError: for symbolic shapes, for tensors of the CPU, and where `fails_on` says so.
        """
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        sizes = [size for tensor in tensors for size in tensor.shape]
        if any(isinstance(value, torch.SymInt) for value in [*inputs, *sizes]):
            raise RuntimeError("the neuron backend compiles static shapes only; use dynamic=False")
        if any(tensor.device.type != "neuron" for tensor in tensors if tensor.dim()):
            raise RuntimeError("the neuron backend compiles graphs of neuron tensors only")
        if self.fails_on(graph):
            raise RuntimeError("neuronx-cc failed with error code 70")
        self.graphs.append(graph)
        return graph.forward


def register(compiler: NeuronCompiler | None = None) -> NeuronCompiler:
    """Makes ``torch.compile(backend="neuron")`` work in this process."""
    compiler = compiler or NeuronCompiler()
    torch._dynamo.register_backend(compiler, name="neuron")
    return compiler


def calls(graph: torch.fx.GraphModule, function: str) -> bool:
    """Whether `graph` calls a function whose name holds `function`, for `fails_on`."""
    return any(function in str(node.target) for node in graph.graph.nodes if node.op == "call_function")
