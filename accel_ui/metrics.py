"""What a Prometheus server collects from /metrics. No prompt, no address and no folder is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from accel_ui.compilation.ledger import LedgerEntry
from accel_ui.requests import GenerationResult

SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)  # a cached prompt ... a compilation


class Metrics:
    """Counters of one manager, and at each collection its state.

    Args:
        facts: ``ready``, ``waiting``, ``running``, ``memory_in_use``, ``prompts`` (hits, misses), and the labels
            ``model``, ``device``, ``dtype``, ``mode``.
        ledger: the entries so far.
    """

    def __init__(self, facts: Callable[[], dict[str, Any]], ledger: Callable[[], tuple[LedgerEntry, ...]]):
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "accel_ui_requests", "Requests that ended, by outcome", ["preset", "outcome"], registry=self._registry
        )
        self._refusals = Counter("accel_ui_refusals", "Requests refused, and why", ["kind"], registry=self._registry)
        self._stages = Histogram(
            "accel_ui_stage_seconds", "Seconds of each stage of a picture", ["stage"],
            buckets=SECONDS, registry=self._registry,
        )  # fmt: skip
        ProcessCollector(registry=self._registry)
        self._registry.register(_State(facts, ledger))

    def ended(self, preset: str, outcome: str) -> None:
        """A request of `preset` ended: ``done``, ``failed`` or ``stopped``."""
        self._requests.labels(preset, outcome).inc()

    def refused(self, kind: str) -> None:
        """A request was refused; `kind` is that of :class:`RequestError`, or ``second_graph``."""
        self._refusals.labels(kind).inc()

    def took(self, result: GenerationResult) -> None:
        """The stages of a picture."""
        for stage, seconds in result.info()["timings"].items():
            self._stages.labels(stage).observe(seconds)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)


class _State(Collector):
    """Read from the manager at each collection, so that nothing has to be kept in step."""

    def __init__(self, facts: Callable[[], dict[str, Any]], ledger: Callable[[], tuple[LedgerEntry, ...]]):
        self._facts, self._ledger = facts, ledger

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not ask a manager that is not there yet."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The gauges, and the ledger as counters."""
        facts = self._facts()
        labels = {name: str(facts[name] or "") for name in ("model", "device", "dtype", "mode")}
        yield InfoMetricFamily("accel_ui", "What serves", value=labels)
        yield GaugeMetricFamily("accel_ui_ready", "1 when the default preset answers at once", float(facts["ready"]))
        yield GaugeMetricFamily("accel_ui_queue_length", "Requests that wait", facts["waiting"])
        yield GaugeMetricFamily("accel_ui_running", "Requests on the accelerator", facts["running"])
        if facts["memory_in_use"] is not None:
            yield GaugeMetricFamily(
                "accel_ui_device_memory_bytes", "Device memory this process holds", facts["memory_in_use"]
            )
        prompts = CounterMetricFamily("accel_ui_prompts", "Prompts encoded or remembered", labels=["how"])
        for how, count in facts["prompts"].items():
            prompts.add_metric([how], count)
        yield prompts
        yield from self._graphs()

    def _graphs(self) -> Iterator[Metric]:
        compiled = CounterMetricFamily("accel_ui_graphs_compiled", "Graphs compiled", labels=["component", "preset"])
        loaded = CounterMetricFamily("accel_ui_graphs_loaded", "Graphs taken from disk", labels=["component", "preset"])
        counts: dict[tuple[str, str, str], int] = {}
        for entry in self._ledger():
            key = (entry.how, entry.target, entry.preset)
            counts[key] = counts.get(key, 0) + (1 if entry.how == "loaded" else entry.graphs)
        for (how, component, preset), count in counts.items():
            (loaded if how == "loaded" else compiled).add_metric([component, preset], count)
        yield compiled
        yield loaded
