"""One request on its way: its events in order, its stop button, its time limit."""

from __future__ import annotations

import threading

import pytest

from accel_ui import jobs
from accel_ui.jobs import Job, Stopped
from accel_ui.requests import Compiling, Decoding, Done, Encoding, Failed, GenerationRequest, Queued, Step

REQUEST = GenerationRequest("a house", "square", 1)


@pytest.fixture(autouse=True)
def _quick_heartbeat(monkeypatch):
    """A page waits half a second for the next sign of life; a test does not need to."""
    monkeypatch.setattr(jobs, "HEARTBEAT", 0.02)


def new_job(time_limit: float = 60, position: int = 0, reason: str = "") -> Job:
    return Job(REQUEST, lambda job: (position, reason), time_limit)


def running_job(**options) -> Job:
    job = new_job(**options)
    job.begin("transformer", lambda: None)
    return job


def without_repeats(events) -> list:
    return list(dict.fromkeys(events))


def test_events_come_in_the_order_of_the_run():
    job = running_job()
    with job.encoding():
        pass
    for index in (1, 2):
        job.calling("transformer")
        job.step(index, 2)
    job.calling("vae")
    done = Done(None)
    job.emit(done)
    assert without_repeats(job.events()) == [Queued(0), Encoding(), Step(1, 2), Step(2, 2), Decoding(), done]


def test_waiting_is_told_again_and_again_with_the_position():
    positions = iter([(2, ""), (1, ""), (0, "the model: loading"), (0, "")])
    job = Job(REQUEST, lambda job: next(positions), 60)
    events = job.events()
    assert [next(events) for _ in range(4)] == [Queued(2), Queued(1), Queued(0, "the model: loading"), Queued(0)]
    events.close()


def test_stop_before_the_run_ends_the_events_at_once():
    job = new_job(position=3)
    events = job.events()
    assert next(events) == Queued(3)
    job.stop()
    assert list(events) == [Failed("Stopped.", stopped=True)]


def test_job_stopped_while_it_waited_never_runs():
    job = new_job()
    job.stop()
    with pytest.raises(Stopped, match=r"^Stopped\.$"):
        job.begin("transformer", lambda: None)


@pytest.mark.parametrize("where", ["step", "denoiser", "vae"])
def test_stop_during_the_run_ends_it_at_the_next_chance(where):
    job = running_job()
    job.step(1, 8)
    job.stop()
    with pytest.raises(Stopped, match="Stopped"):
        job.step(2, 8) if where == "step" else job.calling({"denoiser": "transformer"}.get(where, where))


def test_reader_that_goes_away_stops_the_run():
    job = running_job()
    events = job.events()
    next(events)
    events.close()
    assert job.stopped
    with pytest.raises(Stopped):
        job.step(1, 8)


def test_time_limit_ends_the_run_and_names_the_variable():
    job = running_job(time_limit=0.05)
    threading.Event().wait(0.06)
    with pytest.raises(Stopped, match=r"ACCEL_UI_TIME_LIMIT allows 0\.05 s a run"):
        job.step(1, 8)


def test_waiting_and_compiling_do_not_count_against_the_limit():
    job = new_job(time_limit=0.6)
    threading.Event().wait(0.35)
    job.begin("transformer", lambda: None)
    job.calling("transformer")
    with job.compiling("transformer"):
        threading.Event().wait(0.65)
    job.step(1, 8)
    timings = job.timings()
    assert timings.queue > 0
    assert timings.compile > timings.denoise > 0
    assert timings.total == pytest.approx(sum(vars(timings).values()))


def test_compiling_counts_up_and_is_over():
    job = running_job()
    assert job.graph_in_the_making is None
    events = job.events()
    next(events)
    with job.compiling("vae"):
        name, seconds = job.graph_in_the_making
        seen = [next(events) for _ in range(3)]
    assert (name, seconds >= 0) == ("vae", True)
    assert all(isinstance(event, Compiling) for event in seen)
    assert {(event.component, event.preset) for event in seen} == {("vae", "square")}
    assert seen[0].elapsed < seen[1].elapsed < seen[2].elapsed
    assert job.graph_in_the_making is None
    events.close()


def test_failed_compilation_is_over_too():
    job = running_job()
    with pytest.raises(ValueError, match="unknown op"), job.compiling("vae"):
        raise ValueError("unknown op")
    assert job.graph_in_the_making is None


def test_stages_are_timed_apart_and_the_device_is_waited_for():
    """A device answers before it is done: without the wait, denoising would be booked as decoding."""
    waited = []
    job = new_job()
    job.begin("unet", lambda: waited.append("synchronize"))
    job.calling("unet")
    job.calling("vae")
    timings = job.timings()
    assert waited == ["synchronize"]
    assert all(vars(timings)[stage] > 0 for stage in ("queue", "encode", "denoise", "decode"))
    assert timings.compile == 0


def test_clock_stops_at_the_end():
    job = running_job()
    assert job.timings().total > 0
