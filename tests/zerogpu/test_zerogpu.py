"""A ZeroGPU Space, with the real package `spaces` and a stand-in for the GPU (on_a_cpu.py) and its scheduler."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from gradio_client import Client
from PIL import Image

from accel_ui.backends.zerogpu import ZeroGpuBackend
from accel_ui.preview import Preview
from accel_ui.requests import Done, GenerationRequest
from conftest import PRESETS_FOR_THE_PAGE, ROOT, Server

from .scheduler import Scheduler


class Space(Server):
    command = (sys.executable, str(ROOT / "tests" / "zerogpu" / "on_a_cpu.py"), str(ROOT / "app.py"))


@pytest.fixture(scope="module")
def scheduler() -> Scheduler:
    return Scheduler()


@pytest.fixture(scope="module")
def space(scheduler: Scheduler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    folder = tmp_path_factory.mktemp("space")
    (folder / "cgroup").write_text("0::/stand-in\n")
    (folder / "presets.toml").write_text(PRESETS_FOR_THE_PAGE)
    with scheduler.serving() as address:
        space = Space(
            folder,
            SPACE_ID="someone/accel-ui",
            SPACES_ZERO_GPU="true",
            SPACES_ZERO_DEVICE_API_URL=address,
            ZEROGPU_PROC_SELF_CGROUP_PATH=str(folder / "cgroup"),
            HOME=str(folder),
            ACCEL_UI_CACHE_DIR=str(folder / "cache"),
            ACCEL_UI_OUTPUT_DIR=str(folder / "outputs"),
            ACCEL_UI_PRESETS=str(folder / "presets.toml"),
            ACCEL_UI_DTYPE="float32",
        )
        space.wait_for_port()
        yield space
        space.close()


@pytest.fixture(scope="module")
def visitor(space: Space) -> Client:
    return Client(space.url, verbose=False, headers={"x-ip-token": "visitor"})


def test_model_is_loaded_before_the_port_answers_and_nothing_is_compiled_with_the_reason(space, visitor, scheduler):
    status = visitor.predict(api_name="/status")
    decisions = {row["subject"]: (row["value"], row["reason"]) for row in status["decisions"]}
    assert status["phase"] == "ready"
    assert decisions["device"][0] == "cuda"
    assert "ZeroGPU lends a GPU to each run" in decisions["device"][1]
    assert decisions["mode"][0] == "eager"
    assert "torch.compile is not supported" in decisions["mode"][1]
    assert {(row["state"], row["why"]) for row in status["presets"]} == {
        ("eager", f"transformer and vae: {decisions['mode'][1]}")
    }
    log = space.log.read_text()
    assert f"mode: eager ({decisions['mode'][1]})" in log
    assert log.index("tiny is loaded") < log.index("Running on local URL")
    assert "http://0.0.0.0" in log
    assert scheduler.asked[0][0] == "/startup-report"


def test_picture_is_made_in_the_process_with_the_gpu_and_its_steps_come_back(visitor, scheduler, make_manager):
    job = visitor.submit(prompt="a red house", preset="draft", seed=3, api_name="/generate")
    picture, info = job.result()
    steps = [event["index"] for path, event in job.outputs() if path is None and event["event"] == "step"]
    assert sorted(set(steps)) == [1, 2, 3, 4]
    assert (info["device"], info["mode"], info["graphs_compiled"]) == ("cuda", "eager", 0)
    assert info["timings"]["total"] > info["timings"]["denoise"] > 0

    cpu = make_manager(mode="eager", dtype="float32")
    *_, expected = cpu.generate(cpu.request("a red house", "draft", 3))
    assert isinstance(expected, Done)
    with Image.open(picture) as drawn:
        assert np.abs(np.asarray(drawn, dtype=int) - np.asarray(expected.result.images[0], dtype=int)).max() <= 1

    visitor.predict(prompt="a blue tent", preset="draft", seed=3, api_name="/generate")
    first, second = scheduler.queries("/schedule")
    assert (first["token"], first["durationSeconds"]) == ("visitor", "60")  # his quota, not the Space's
    assert int(second["durationSeconds"]) < 60  # from what the first one took
    assert len({query["pid"] for query in scheduler.queries("/allow")}) == 2
    assert [query["fail"] for query in scheduler.queries("/release")] == ["false", "false"]


def test_stop_gives_the_gpu_back_and_the_next_request_runs(visitor, scheduler):
    before = len(scheduler.queries("/release"))
    job = visitor.submit(prompt="a red house", preset="slow", seed=1, api_name="/generate")
    for _, event in job:
        if event["event"] == "step":
            break
    job.cancel()
    assert visitor.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")[1]["seed"] == 1
    assert [query["fail"] for query in scheduler.queries("/release")[before:]] == ["false", "false"]


def test_quota_that_is_used_up_is_said_to_the_visitor(visitor, scheduler):
    scheduler.quota_is_used_up = True
    try:
        with pytest.raises(Exception, match=r"ZeroGPU: You have exceeded your ZeroGPU quota .* Try again in 1:00:00"):
            visitor.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")
    finally:
        scheduler.quota_is_used_up = False
    assert visitor.predict(prompt="a red house", preset="draft", seed=1, api_name="/generate")[1]["seed"] == 1


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [(MemoryError("full"), MemoryError, "full"), (Unpicklable(1, 2), RuntimeError, "1 and")],
)
def test_what_goes_wrong_there_is_raised_here(raised, kind, words):
    class Engine:
        denoiser, preview = "transformer", Preview()

        def run(self, job, *, may_compile):
            raise raised

    backend = ZeroGpuBackend()
    backend.synchronize = lambda: None
    backend.runner(Engine())
    *_, last = backend._draw(GenerationRequest("a house", "draft", 1), Preview())
    assert type(last.outcome) is kind
    assert words in str(last.outcome)
