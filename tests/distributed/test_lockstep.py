"""How the ranks compare what a run did in each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from accel_ui.compilation.artifacts import ArtifactStore
from accel_ui.compilation.compiler import Compiler
from accel_ui.compilation.graphs import GraphTable
from accel_ui.compilation.ledger import Ledger, LedgerEntry
from accel_ui.compilation.targets import Target
from accel_ui.distributed.lockstep import Lockstep
from accel_ui.distributed.orders import RanksLost

EAGER = LedgerEntry("vae", "square", "eager", 1, 2.0, "it could not be compiled (error 70)")


class TwoRanks:
    """Two threads in place of two processes, each with a ledger and a table of graphs that notes what falls back."""

    def __init__(self):
        self._given, self._meeting = [None, None], threading.Barrier(2)
        self.ledgers = [Ledger(), Ledger()]
        self.fallen: list[list[tuple[str, str, str]]] = [[], []]
        self.outcomes: list[object] = [None, None]

    def run(self, *works: Callable[[Lockstep], object]) -> None:
        threads = [threading.Thread(target=self._one, args=(rank, work)) for rank, work in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _one(self, rank: int, work: Callable[[Lockstep], object]) -> None:
        group = SimpleNamespace(rank=rank, gather=lambda value: self._gather(rank, value), decide=lambda end: end)
        lockstep = Lockstep(group, self.ledgers[rank], give_up=pytest.fail)
        graphs = SimpleNamespace(fall_back=lambda *graph: self.fallen[rank].append(graph))
        try:
            engine = SimpleNamespace(graphs=graphs)
            self.outcomes[rank] = lockstep.together(engine, "square", lambda: work(lockstep))
        except Exception as error:
            self.outcomes[rank] = error

    def _gather(self, rank: int, value: object) -> list:
        self._given[rank] = value
        self._meeting.wait(20)
        return list(self._given)


def test_what_one_rank_cannot_compile_all_run_eagerly():
    ranks = TwoRanks()
    ranks.run(lambda lockstep: "picture", lambda lockstep: ranks.ledgers[1].add(EAGER))
    assert ranks.outcomes == ["picture", None]
    assert [(target, preset) for target, preset, _ in ranks.fallen[0]] == [("vae", "square")]
    assert "rank 1" in ranks.fallen[0][0][2]
    assert "error 70" in ranks.fallen[0][0][2]
    assert ranks.fallen[1] == []
    assert [(entry.rank, entry.how) for entry in ranks.ledgers[0].entries] == [(1, "eager")]
    assert ranks.ledgers[0].graphs_by_rank(2) == [0, 1]


def test_ranks_that_are_out_of_step_are_lost():
    ranks = TwoRanks()
    ranks.run(lambda lockstep: lockstep.must_end(False), lambda lockstep: None)
    assert [type(outcome) for outcome in ranks.outcomes] == [RanksLost, RanksLost]


def test_failure_at_the_same_step_is_each_rank_own():
    def fail(lockstep: Lockstep) -> None:
        lockstep.must_end(False)
        raise ValueError("too large")

    ranks = TwoRanks()
    ranks.run(fail, fail)
    assert [str(outcome) for outcome in ranks.outcomes] == ["too large", "too large"]


class Decoder(torch.nn.Module):
    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        return latents + 1


def test_graph_that_falls_back_is_not_used_again(tmp_path):
    module, watcher = Decoder(), SimpleNamespace(calling=lambda component: None, compiling=lambda name: nullcontext())
    table = GraphTable(
        [Target("vae", "vae", (module,), "decode")],
        {"square": "128x128"},
        keys=lambda target, preset: {},
        compiler=Compiler("eager", keeps_artifacts=False),
        store=ArtifactStore(tmp_path),
        ledger=(ledger := Ledger()),
    )
    with table.running("square", watcher, may_compile=True):
        module.decode(torch.zeros(2))
        assert table.state("square").state == "ready"
        table.fall_back("vae", "square", "rank 1 runs it eagerly")
        table.fall_back("vae", "square", "rank 2 runs it eagerly")
        assert module.decode(torch.zeros(3)).tolist() == [1, 1, 1]  # its graph would refuse another size
    assert (table.state("square").state, table.state("square").why) == ("eager", "vae: rank 1 runs it eagerly")
    assert [entry.how for entry in ledger.entries] == ["compiled", "eager"]
