"""What every test shares: a clean environment, set before torch is imported, and folders of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parent.parent

for name in [name for name in os.environ if name.startswith("ACCEL_UI_")]:
    del os.environ[name]
os.environ.update(
    TORCH_DEVICE_BACKEND_AUTOLOAD="0",  # torch_tpu is installed for tests/tpu, which load it themselves
    USE_TORCH_XLA="0",
    TPU_SKIP_MDS_QUERY="1",
    OMP_WAIT_POLICY="PASSIVE",
    HF_HUB_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
)
os.environ.pop("HF_TOKEN", None)
ENVIRONMENT = dict(os.environ)  # for other processes: tests of this one leave traces in os.environ

from accel_ui.manager import PipelineManager  # noqa: E402
from accel_ui.settings import Settings  # noqa: E402


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", type=int, default=40, help="requests of tests/test_soak.py (%(default)s)")


def run_command(*arguments: str, env: dict[str, str] | None = None, check: bool = True) -> subprocess.CompletedProcess:
    """`python -m accel_ui ARGUMENTS` in a process of its own, from a folder without a .env file."""
    done = subprocess.run(
        [sys.executable, "-m", "accel_ui", *arguments],
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT), **(env or {})},
        cwd="/tmp",
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture
def environment_put_back() -> Iterator[None]:
    """`load_settings` and `prepare_environment` write into the environment of the process."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


# In the order in which two processes end together: first what takes long without the graphs that `warmup` makes
# meanwhile (`warm_cache`), then what needs them, then the quick files.
LONG = (
    "test_pipelines",
    "test_running",
    "test_neuron_pictures",
    "test_zerogpu",
    "test_reload",
    "test_serving",
    "test_neuron_graphs",
    "test_neuron_start",
)
WARM_UP = pytest.StashKey[Future]()


def pytest_configure(config: pytest.Config) -> None:
    config.option.loadscopereorder = False  # pytest-xdist would take the files with the most tests first


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    needing = {item.path for item in items if "warm_cache" in getattr(item, "fixturenames", ())}

    def turn(item: pytest.Item) -> int:
        if item.path.stem in LONG:
            return LONG.index(item.path.stem)
        return len(LONG) if item.path in needing else len(LONG) + 1

    items.sort(key=turn)
    if needing and not config.option.collectonly:
        config.stash[WARM_UP] = ThreadPoolExecutor(1).submit(warm_up, config.cache.mkdir("warm"))


def warm_up(cache: Path) -> Path:
    """Compiles all presets of the embedded model, once for the processes of one run of the tests."""
    run, done = os.environ.get("PYTEST_XDIST_TESTRUNUID"), cache / "done"
    with FileLock(cache / "lock"):
        if not run or not done.exists() or done.read_text() != run:
            run_command("warmup", env={"ACCEL_UI_CACHE_DIR": str(cache), "ACCEL_UI_OUTPUT_DIR": str(cache / "out")})
            done.write_text(run or "")
    return cache


@pytest.fixture(scope="session")
def warm_cache(pytestconfig: pytest.Config) -> Path:
    """A cache folder with the artifacts of all presets of the embedded model, made by `warmup`.

    Minutes the first time; pytest keeps the folder, so the next run of the tests only loads them.
    """
    return pytestconfig.stash[WARM_UP].result()


@contextmanager
def managers(folder: Path) -> Iterator[Callable[..., PipelineManager]]:
    """Makes loaded managers with settings given by name, and closes them."""
    made = []

    def make(*, wait: bool = True, **settings) -> PipelineManager:
        defaults = {"cache_dir": folder / "cache", "output_dir": folder / "outputs", "warmup": "none", "device": "cpu"}
        manager = PipelineManager(Settings(**{**defaults, **settings}))
        made.append(manager)
        manager.start()
        if wait:
            assert manager.wait_until_loaded(300)
        return manager

    yield make
    for manager in made:
        manager.close()


@pytest.fixture
def make_manager(tmp_path: Path) -> Iterator[Callable[..., PipelineManager]]:
    """See :func:`managers`."""
    with managers(tmp_path) as make:
        yield make


@pytest.fixture(scope="module")  # while it is open, no other test of the process can run an event loop
def browser() -> Iterator:
    """A real Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium and not os.environ.get("CI"):
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


PRESETS_FOR_THE_PAGE = """
[presets.square]
height = 128
width = 128
steps = 8
max_sequence_length = 32
true_cfg_scale = 2.0
[presets.landscape]
height = 96
width = 160
steps = 8
max_sequence_length = 32
true_cfg_scale = 2.0
[presets.portrait]
height = 160
width = 96
steps = 8
max_sequence_length = 32
true_cfg_scale = 2.0
[presets.draft]
height = 128
width = 128
steps = 4
max_sequence_length = 32
[presets.slow]
label = "Slow"
height = 128
width = 128
steps = 400
max_sequence_length = 32
"""


class Server:
    """`python app.py` on a free port, or on the one that is given."""

    command: tuple[str, ...] = (sys.executable, str(ROOT / "app.py"))

    def __init__(self, folder: Path, port: int | None = None, **env: str):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port or 0))
            port = probe.getsockname()[1]
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.command,
                env={**ENVIRONMENT, "GRADIO_SERVER_PORT": str(port), "PYTHONUNBUFFERED": "1", **env},
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def page(self) -> str:
        """The HTML of the page."""
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            return answer.read().decode()

    def wait_for_port(self, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            try:
                self.page()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"no answer in {seconds} s\n{self.log.read_text()[-3000:]}")

    def wait_until_loaded(self, client, seconds: float = 300) -> dict:
        end = time.monotonic() + seconds
        while (status := client.predict(api_name="/status"))["phase"] == "loading":
            assert time.monotonic() < end
            time.sleep(0.3)
        return status

    def close(self) -> None:
        """Ends the server and whatever it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def server(warm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with all graphs of the embedded model on disk, one preset slow enough to stop, and MCP tools."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "presets.toml").write_text(PRESETS_FOR_THE_PAGE)
    (folder / ".env").write_text("ACCEL_UI_PRESETS=presets.toml\nACCEL_UI_WARMUP=none\n")
    server = Server(folder, ACCEL_UI_CACHE_DIR=str(warm_cache), ACCEL_UI_DEVICE="cpu", GRADIO_MCP_SERVER="true")
    server.wait_for_port()
    yield server
    server.close()
