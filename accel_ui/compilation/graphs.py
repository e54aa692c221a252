"""The table of graphs, one per (target, preset), and the switch that sends each call to the right one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from torch import nn

from accel_ui.compilation.artifacts import ArtifactError, ArtifactMissing, ArtifactStore, Key
from accel_ui.compilation.compiler import Compiler
from accel_ui.compilation.inputs import Description, describe, difference, own_storage
from accel_ui.compilation.ledger import Ledger, LedgerEntry
from accel_ui.compilation.targets import Target
from accel_ui.errors import UserError

log = logging.getLogger(__name__)

State = Literal["cold", "ready", "eager"]
NOT_YET = "not compiled yet"


class GraphRefused(UserError):
    """A call would have needed a second graph."""


class Watcher(Protocol):
    """What a run wants to know while its components are called."""

    def calling(self, component: str) -> None:
        """Before each call of a component; raises to end the run."""

    def compiling(self, target: str) -> AbstractContextManager[None]:
        """Around the making of a graph."""


@dataclass
class Graph:
    """The graph of one target for one preset.

    Attributes:
        state: ``cold`` (not made yet), ``ready``, or ``eager`` (could not be made, or is not wanted).
        size: of the preset's pictures, in words.
        why: the reason in words.
        proven: whether it has run once.
    """

    target: Target
    preset: str
    size: str
    key: Key
    state: State = "cold"
    why: str = NOT_YET
    call: Callable | None = None
    inputs: Description | None = None
    proven: bool = False

    @property
    def name(self) -> str:
        """Name of its artifact, which presets of equal shapes share."""
        return f"{self.target.name}-{self.size}"


@dataclass(frozen=True)
class PresetState:
    """What a preset would do now: ``ready`` (all its graphs are there), ``cold`` or ``eager``, and why."""

    state: State
    why: str


class GraphTable:
    """Makes, keeps and guards the graphs of a loaded pipeline.

    One thread runs the pipeline at a time; the states may be read from any thread.

    Args:
        targets: from :func:`find_targets`.
        presets: id -> size of its pictures, in words.
        keys: target name, preset id -> what its graph depends on.
        eager_reason: when given, nothing is compiled, and this is why.
        synchronize: waits for the device, so that a graph's first failure is known before it counts as proven.
        programs: how many programs the device's own compiler has made; None where it makes none.
    """

    def __init__(
        self,
        targets: list[Target],
        presets: Mapping[str, str],
        keys: Callable[[Target, str], Key],
        compiler: Compiler,
        store: ArtifactStore,
        ledger: Ledger,
        eager_reason: str | None = None,
        synchronize: Callable[[], None] = lambda: None,
        programs: Callable[[], int | None] = lambda: None,
    ):
        self._compiler, self._store, self._ledger = compiler, store, ledger
        self._targets = targets
        self._synchronize, self._programs = synchronize, programs
        self._graphs = {
            (target.name, preset): Graph(target, preset, size, keys(target, preset))
            for target in targets
            if target.compiled
            for preset, size in presets.items()
        }
        if eager_reason:
            for graph in self._graphs.values():
                graph.state, graph.why = "eager", eager_reason
        self._preset: str | None = None
        self._watcher: Watcher | None = None
        self._may_compile = False
        for target in targets:
            for module in target.modules:
                self._install(target, module)

    def _install(self, target: Target, module: nn.Module) -> None:
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            return self._call(target, module, args, kwargs)

        # An instance attribute, as accelerate's hooks do it: `module(...)` and `vae.decode(...)` both find it.
        setattr(module, target.method, dispatch)

    @contextmanager
    def running(self, preset: str, watcher: Watcher, *, may_compile: bool) -> Iterator[None]:
        """The pipeline may be called inside, for `preset` alone. Cold graphs are made if `may_compile`."""
        self._preset, self._watcher, self._may_compile = preset, watcher, may_compile
        try:
            yield
        finally:
            self._preset = self._watcher = None

    def state(self, preset: str) -> PresetState:
        """See :class:`PresetState`."""
        graphs = [graph for (_, of), graph in self._graphs.items() if of == preset]
        if not graphs:
            return PresetState("eager", "nothing is compiled")
        for state in ("cold", "eager"):
            found = [graph for graph in graphs if graph.state == state]
            if found:
                names = " and ".join(graph.target.name for graph in found)
                return PresetState(state, f"{names}: {found[0].why}")
        return PresetState("ready", "; ".join(f"{graph.target.name}: {graph.why}" for graph in graphs))

    @property
    def made(self) -> int:
        """Graphs compiled in this process so far."""
        return self._compiler.graphs

    def give_up(self, preset: str, why: str) -> None:
        """`preset` stays eager: its graphs could not be made elsewhere."""
        for (_, of), graph in self._graphs.items():
            if of == preset and graph.state == "cold":
                graph.state, graph.why = "eager", why
                self._ledger.add(LedgerEntry(graph.target.name, preset, "eager", 0, 0.0, why))

    def fall_back(self, target: str, preset: str, why: str) -> None:
        """`target` runs eagerly for `preset` from now on, though its graph may be there."""
        graph = self._graphs.get((target, preset))
        if graph and graph.state != "eager":
            graph.state, graph.why, graph.call = "eager", why, None
            self._ledger.add(LedgerEntry(target, preset, "eager", 0, 0.0, why))

    def load(self, preset: str) -> None:
        """Loads the artifacts of `preset` that exist. Takes a fraction of a second and compiles nothing."""
        for (_, of), graph in self._graphs.items():
            if of == preset and graph.state == "cold":
                self._load(graph)

    def _load(self, graph: Graph) -> bool:
        if not self._compiler.keeps_artifacts:
            return False
        started = time.perf_counter()
        try:
            artifact = self._store.load(graph.name, graph.key)
        except ArtifactError as error:
            if graph.why == NOT_YET or not isinstance(error, ArtifactMissing):  # damage found earlier stays the reason
                graph.why = str(error)
            return False
        graph.call, graph.inputs, graph.proven = artifact.call, artifact.inputs, False
        graph.state, graph.why = "ready", f"loaded from disk; compiling it took {artifact.seconds:.0f} s"
        seconds = time.perf_counter() - started
        self._ledger.add(LedgerEntry(graph.target.name, graph.preset, "loaded", 0, seconds, graph.why))
        return True

    def _call(self, target: Target, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        if self._preset is None or self._watcher is None:
            raise GraphRefused(
                f"{target.name} was called outside a preset: make pictures through PipelineManager.generate."
            )
        if not target.is_block:
            self._watcher.calling(target.component)
        graph = self._graphs.get((target.name, self._preset))
        if graph is None or graph.state == "eager":
            return target.function(module, *args, **kwargs)
        args, kwargs = own_storage(args, kwargs)
        if graph.state == "cold":
            if not self._may_compile:
                return target.function(module, *args, **kwargs)
            return self._make(graph, module, args, kwargs)
        return self._run(graph, module, args, kwargs)

    def _run(self, graph: Graph, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        differs = difference(graph.inputs, describe(args, kwargs))
        if differs:
            raise self._refusal(graph, differs)
        try:
            result = graph.call(module, *args, **kwargs)
            if not graph.proven:
                self._synchronize()
        except Exception as error:
            if type(error).__name__ == "FailOnRecompileLimitHit" or "GuardManager check failed" in str(error):
                raise self._refusal(graph, str(error).split("verbose_code_parts=")[-1].splitlines()[0]) from error
            if graph.proven or not self._may_recover(error):
                raise
            log.warning(
                "The kept graph of %s for %s failed in its first call", graph.target.name, graph.preset, exc_info=True
            )
            self._store.discard(graph.name, graph.key)
            graph.state, graph.call, graph.why = "cold", None, f"the kept graph failed ({_first_line(error)})"
            if not self._may_compile:
                return graph.target.function(module, *args, **kwargs)
            return self._make(graph, module, args, kwargs)
        graph.proven = True
        return result

    @staticmethod
    def _may_recover(error: Exception) -> bool:
        """Running out of memory is not the graph's fault."""
        return not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError"

    @staticmethod
    def _refusal(graph: Graph, differs: str) -> GraphRefused:
        return GraphRefused(
            f"{graph.target.name} has its graph for preset {graph.preset!r} and refuses a second one: {differs}."
        )

    def _make(self, graph: Graph, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        """Makes the graph from the call at hand and answers the call."""
        with self._watcher.compiling(graph.target.name):
            if self._load(graph):
                return self._run(graph, module, args, kwargs)
            why, started, before = graph.why, time.perf_counter(), (self._compiler.graphs, self._programs())
            inputs, problems = describe(args, kwargs), []
            ways = [self._just_in_time]
            if self._compiler.keeps_artifacts:
                ways.insert(0, self._ahead_of_time)
            for make in ways:
                try:
                    call, note, result = make(graph, inputs, module, args, kwargs)
                except Exception as error:
                    if not self._may_recover(error):
                        raise
                    log.warning("%s could not be compiled for %s", graph.target.name, graph.preset, exc_info=True)
                    problems.append(_first_line(error))
                    continue
                graph.call, graph.inputs, graph.proven = call, inputs, True
                graph.state = "ready"
                seconds = time.perf_counter() - started
                graph.why = f"compiled in {seconds:.0f} s{note}"
                self._record(graph, "compiled", before, seconds, f"{why}{note}")
                return result
            graph.state, graph.why = "eager", f"it could not be compiled ({problems[-1]})"
            self._record(graph, "eager", before, time.perf_counter() - started, graph.why)
        return graph.target.function(module, *args, **kwargs)

    def _ahead_of_time(self, graph: Graph, inputs: Description, module: nn.Module, args: tuple, kwargs: dict):
        started = time.perf_counter()
        with self._store.making(graph.name, graph.key) as keep:
            call = self._compiler.ahead_of_time(graph.target.function, (module, *args), kwargs)
            result = call(module, *args, **kwargs)
            self._synchronize()
            try:
                keep(call, inputs, time.perf_counter() - started)
                note = ""
            except Exception as error:
                log.warning("The graph of %s for %s could not be kept", graph.target.name, graph.preset, exc_info=True)
                note = f"; it could not be kept ({_first_line(error)})"
        return call, note, result

    def _just_in_time(self, graph: Graph, inputs: Description, module: nn.Module, args: tuple, kwargs: dict):
        call = self._compiler.just_in_time(graph.target.function)
        result = call(module, *args, **kwargs)
        self._synchronize()
        return call, "; made just in time", result

    def _record(self, graph: Graph, how: str, before: tuple[int, int | None], seconds: float, why: str) -> None:
        graphs, programs = self._compiler.graphs - before[0], self._programs()
        entry = LedgerEntry(
            graph.target.name, graph.preset, how, graphs, seconds, why,
            programs=None if programs is None else programs - before[1],
        )  # fmt: skip
        self._ledger.add(entry)
        log.info("%s for %s: %s in %.1f s (%s)", entry.target, entry.preset, how, seconds, why)


def _first_line(error: BaseException) -> str:
    error = getattr(error, "inner_exception", error)  # Dynamo wraps what the compiler raised
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
