"""The accelerator's one thread: order, full queue, stop, and errors that do not end it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from accel_ui import jobs
from accel_ui.jobs import Job, Stopped
from accel_ui.requests import Done, Failed, GenerationRequest, Queued, RequestError, Step
from accel_ui.worker import CLOSING, Worker

PATIENCE = 20  # seconds after which a test gives up


class Stage:
    """A worker whose runs take until `go` is set; each job's prompt is its name."""

    def __init__(self):
        self.ran: list[str] = []
        self.began, self.go = threading.Event(), threading.Event()
        self.worker = Worker(self.run, max_waiting=3, max_per_client=2)

    def run(self, job: Job) -> None:
        try:
            job.begin("transformer", lambda: None)
            self.began.set()
            assert self.go.wait(PATIENCE)
            for index in range(1, 4):
                job.step(index, 3)
            self.ran.append(job.request.prompt)
            job.emit(Done(None))
        except Stopped as end:
            job.emit(Failed(str(end), stopped=True))

    def job(self, name: str, client: str) -> Job:
        return Job(GenerationRequest(name, "square", 1), lambda job: (self.worker.ahead_of(job), ""), 60, client=client)

    def submit(self, name: str, client: str = "") -> Job:
        job = self.job(name, client)
        self.worker.submit(job)
        return job

    def task(self, name: str):
        return lambda: self.ran.append(name)

    def finish(self) -> None:
        """Waits until the thread has nothing left to do."""
        idle = threading.Event()
        self.worker.do_when_idle(idle.set)
        self.go.set()
        assert idle.wait(PATIENCE)


@pytest.fixture(autouse=True)
def _quick_heartbeat(monkeypatch):
    """A page waits half a second for the next sign of life; a test does not need to."""
    monkeypatch.setattr(jobs, "HEARTBEAT", 0.02)


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.go.set()
    stage.worker.close()


def end(job: Job):
    *_, last = job.events()
    return last


def test_tasks_first_then_jobs_in_their_order_then_idle_tasks(stage):
    stage.worker.do_when_idle(stage.task("idle"))
    waiting = [stage.submit(name) for name in "abc"]
    stage.worker.do(stage.task("load"))
    stage.go.set()
    stage.worker.start()
    stage.worker.release()
    assert [end(job) for job in waiting] == [Done(None)] * 3
    stage.finish()
    assert stage.ran == ["load", "a", "b", "c", "idle"]


def test_jobs_wait_until_the_model_is_there(stage):
    stage.go.set()
    stage.worker.start()
    job, loaded = stage.submit("early"), threading.Event()
    stage.worker.do(loaded.set)
    assert loaded.wait(PATIENCE)
    assert stage.ran == []
    assert next(job.events()) == Queued(0)
    other = stage.submit("second")
    stage.worker.release()
    assert end(other) == Done(None)


@pytest.fixture
def busy(stage):
    """The stage with one run in the middle, and that run's job."""
    stage.worker.start()
    stage.worker.release()
    job = stage.submit("running")
    assert stage.began.wait(PATIENCE)
    return stage, job


def test_positions_count_what_is_ahead(busy):
    stage, running = busy
    second, third = stage.submit("second"), stage.submit("third")
    assert stage.worker.running is running
    assert (stage.worker.ahead_of(second), stage.worker.ahead_of(third), stage.worker.waiting) == (1, 2, 2)
    second.stop()
    assert (stage.worker.ahead_of(third), stage.worker.waiting) == (1, 1)
    assert next(third.events()) == Queued(1)


def test_running_job_has_nobody_ahead(busy):
    """A request to an idle machine begins before its reader asks for the position; the page must not say "1 before"."""
    stage, running = busy
    assert stage.worker.ahead_of(running) == 0
    assert next(running.events()) == Queued(0)


def test_full_queue_refuses_with_a_sentence_and_a_stopped_job_makes_room(busy):
    stage, _ = busy
    first, *others = [stage.submit(name) for name in "abc"]
    with pytest.raises(RequestError, match=r"The queue is full \(3 requests are waiting\): try again"):
        stage.submit("d")
    first.stop()
    others.append(stage.submit("e"))
    stage.go.set()
    assert [end(job) for job in others] == [Done(None)] * 3
    assert stage.ran == ["running", "b", "c", "e"]


def test_clients_take_turns(stage):
    jobs = [stage.submit(name, client=name[0]) for name in ("a1", "a2", "b1")]
    assert [stage.worker.ahead_of(job) for job in jobs] == [0, 2, 1]
    stage.go.set()
    stage.worker.start()
    stage.worker.release()
    assert [end(job) for job in jobs] == [Done(None)] * 3
    assert stage.ran == ["a1", "b1", "a2"]


def test_client_who_runs_now_has_had_its_turn(stage):
    stage.worker.start()
    stage.worker.release()
    running = stage.submit("a1", client="a")
    assert stage.began.wait(PATIENCE)
    jobs = [running, stage.submit("a2", client="a"), stage.submit("b1", client="b")]
    assert [stage.worker.ahead_of(job) for job in jobs] == [0, 2, 1]
    stage.go.set()
    assert [end(job) for job in jobs] == [Done(None)] * 3
    assert stage.ran == ["a1", "b1", "a2"]


def test_share_of_one_client_leaves_room_for_others(busy):
    stage, _ = busy
    first, _ = stage.submit("a1", client="a"), stage.submit("a2", client="a")
    with pytest.raises(RequestError, match="2 of your requests are waiting, which is your share") as refusal:
        stage.submit("a3", client="a")
    assert refusal.value.kind == "client_share"
    stage.submit("b1", client="b")
    first.stop()
    stage.submit("a4", client="a")


def test_drain_finishes_the_running_job_and_refuses_the_rest(busy):
    stage, running = busy
    waiting, finished = stage.submit("waiting"), []
    draining = threading.Thread(target=lambda: finished.append(stage.worker.drain(PATIENCE)))
    draining.start()
    assert end(waiting) == Failed(CLOSING, refused=True)
    with pytest.raises(RequestError, match="shutting down"):
        stage.submit("late")
    stage.go.set()
    assert end(running) == Done(None)
    draining.join(PATIENCE)
    assert finished == [True]
    assert stage.ran == ["running"]


def test_drain_does_not_wait_longer_than_its_grace_nor_for_nothing(busy):
    stage, running = busy
    assert stage.worker.drain(0.01) is True
    assert stage.worker.running is running
    stage.go.set()
    assert end(running) == Done(None)
    stage.finish()
    assert stage.worker.drain(PATIENCE) is False


def test_job_stopped_in_the_queue_never_runs_and_the_next_one_does(busy):
    stage, _ = busy
    stopped, after = stage.submit("stopped"), stage.submit("after")
    stopped.stop()
    assert end(stopped) == Failed("Stopped.", stopped=True)
    stage.go.set()
    assert end(after) == Done(None)
    assert stage.ran == ["running", "after"]


def test_stop_in_the_middle_of_a_run_frees_the_thread(busy):
    stage, running = busy
    running.stop()
    stage.go.set()
    events = list(running.events())
    assert events[-1] == Failed("Stopped.", stopped=True)
    assert Step(2, 3) not in events
    assert end(stage.submit("next")) == Done(None)
    assert stage.ran == ["next"]


@pytest.mark.parametrize("kind", ["do", "do_when_idle"])
def test_task_that_raises_does_not_end_the_thread(stage, caplog, kind):
    def broken() -> None:
        raise RuntimeError("no such file")

    stage.go.set()
    getattr(stage.worker, kind)(broken)
    stage.worker.start()
    stage.worker.release()
    stage.finish()
    assert end(stage.submit("after")) == Done(None)
    assert "no such file" in caplog.text


def test_task_overtakes_waiting_jobs(busy):
    stage, _ = busy
    waiting = stage.submit("waiting")
    stage.worker.do(stage.task("task"))
    stage.go.set()
    assert end(waiting) == Done(None)
    assert stage.ran == ["running", "task", "waiting"]


def test_close_ends_everything_and_refuses_what_comes_after(busy):
    stage, running = busy
    waiting = stage.submit("waiting")
    closing = threading.Thread(target=stage.worker.close)
    closing.start()
    assert end(waiting).stopped
    stage.go.set()
    assert end(running).stopped
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert stage.ran == []
    with pytest.raises(RequestError, match="shutting down"):
        stage.submit("late")
    assert stage.worker.running is None
