"""python -m accel_ui: doctor, generate, warmup, bench."""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
from pathlib import Path

from accel_ui.environment import prepare_environment
from accel_ui.errors import UserError
from accel_ui.manager import PipelineManager
from accel_ui.requests import Compiling, Done, Event, Failed, Queued, Step
from accel_ui.settings import Settings, load_settings
from accel_ui.torchrun import follow_rank_0, launch, leave, open_manager


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit code is 0 when it did what it says."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    try:
        settings = load_settings()
        prepare_environment(settings.cache_dir)
        return options.run(settings, options)
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m accel_ui", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run, description: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=description, description=description)
        sub.add_argument("--json", action="store_true", help="print JSON for programs")
        sub.set_defaults(run=run)
        return sub

    command("doctor", doctor, "say what this machine would do and why; exit 1 when it cannot serve")
    generate_ = command("generate", generate, "make one picture, on the same path as the page")
    generate_.add_argument("prompt")
    generate_.add_argument("--preset", metavar="ID", help="default: the first one")
    generate_.add_argument("--seed", default="random", help="0 to 2**63 - 1; default: random")
    generate_.add_argument("--negative-prompt", default="", metavar="TEXT")
    generate_.add_argument("--output", type=Path, metavar="FILE.png", help="default: a new file in ACCEL_UI_OUTPUT_DIR")
    warmup_ = command("warmup", warmup, "compile presets into the persistent cache and end")
    warmup_.add_argument("--preset", metavar="ID", action="append", help="default: all; may be repeated")
    bench_ = command("bench", bench, "measure this machine beside a plain diffusers script and a usual demo app")
    bench_.add_argument(
        "--only",
        metavar="PART",
        action="append",
        default=[],
        help="compile, restart, speed, stall, clients, start, tpu (all by default) or presets; may be repeated",
    )
    return parser


def doctor(settings: Settings, options: argparse.Namespace) -> int:
    """Prints the report."""
    from accel_ui.report import diagnose, in_words

    if launch().rank:
        return 0
    report = diagnose(settings)
    print(json.dumps(report, indent=2) if options.json else in_words(report))
    return 1 if report["problem"] else 0


def generate(settings: Settings, options: argparse.Namespace) -> int:
    """Makes one picture and prints where it is, or its parameters."""
    manager = _loaded(settings.model_copy(update={"warmup": "none"}))
    try:
        request = manager.request(options.prompt, options.preset, options.seed, options.negative_prompt)
        last = _follow(manager.generate(request))
    finally:
        manager.close()
    if not isinstance(last, Done):
        print(last.reason, file=sys.stderr)
        return 1
    path = last.result.paths[0]
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        path = Path(shutil.copyfile(path, options.output))
    for notice in last.result.notices:
        print(notice, file=sys.stderr)
    print(json.dumps({"path": str(path), **last.result.info()}, indent=2) if options.json else path)
    return 0


def warmup(settings: Settings, options: argparse.Namespace) -> int:
    """Compiles presets and prints the ledger; exit code 1 when a preset cannot be made ready."""
    manager = _loaded(settings.model_copy(update={"warmup": "none"}))
    problem = None
    try:
        for preset in options.preset or list(manager.presets):
            manager.request("warm-up", preset)  # refuses an unknown id
            last = _follow(manager.warm_up(preset))
            state, why = manager.preset_state(preset)
            if isinstance(last, Failed) or state != "ready":
                problem = problem or f"{preset}: {last.reason if isinstance(last, Failed) else why}"
    finally:
        manager.close()
    rows = manager.ledger.rows()
    if options.json:
        print(json.dumps({"problem": problem, "ledger": rows}, indent=2))
    else:
        for row in rows:
            print(f"{row['preset']:<10} {row['target']:<12} {row['how']:<9} {row['seconds']:>7.1f} s  {row['why']}")
        if problem:
            print(problem, file=sys.stderr)
    return 1 if problem else 0


def bench(settings: Settings, options: argparse.Namespace) -> int:
    """Prints the table of the benchmarks; exit code 1 when a part failed."""
    root = Path(__file__).parent.parent
    if not (root / "benchmarks" / "bench.py").is_file():
        raise UserError("The folder benchmarks/ is not beside accel_ui/: run bench in a clone of the repository.")
    sys.path.insert(0, str(root))
    from benchmarks.bench import run

    report = run(options.only)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        print(f"{report['machine']}\n\n{report['markdown']}")
    return 1 if any(row["what"] == "failed" for row in report["rows"]) else 0


def _loaded(settings: Settings) -> PipelineManager:
    follow_rank_0(settings)
    manager = open_manager(settings)
    manager.start()
    manager.wait_until_loaded()
    status = manager.status()
    if status["phase"] != "ready":
        manager.close()
        raise UserError(manager.reason)
    return manager


def _follow(events) -> Event:
    """Shows progress on a terminal; returns the last event."""
    show, last = sys.stderr.isatty(), None
    for last in events:
        text = ""
        if isinstance(last, Queued):
            text = last.reason
        elif isinstance(last, Compiling):
            text = f"{last.preset}: compiling {last.component}, {last.elapsed:.0f} s"
        elif isinstance(last, Step):
            text = f"step {last.index} of {last.count}"
        if show:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    if show:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return last


if __name__ == "__main__":
    leave(main())
