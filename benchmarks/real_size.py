"""FLUX.2-klein-4B and FLUX.1-schnell in their real size on one GPU, with random weights: `python benchmarks/real_size.py`.

Runs alone, prints one table, and starts a process for each contender: the plain script eager and compiled, and Accel UI.
No file is downloaded. `--small` scales everything down to try the script on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.figures import in_words, median  # noqa: E402
from benchmarks.table import lines  # noqa: E402

MODELS = ("black-forest-labs/FLUX.2-klein-4B", "black-forest-labs/FLUX.1-schnell")
CONTENDERS = ("bare", "bare compiled", "Accel UI")
MARK = "@result "
SMALL_PRESET = "[presets.square]\nheight = 64\nwidth = 64\nsteps = 2\nguidance_scale = {}\nmax_sequence_length = 64\n"
HEAD = ("model", "contender", "seconds a picture", "spread (middle half)", "over the floor", "first picture", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one block of each kind, 64 x 64: to try it on a CPU")
    parser.add_argument("--device", default="cuda", help="default: cuda")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="pictures measured; default: 10")
    parser.add_argument("--model", choices=MODELS, action="append", help="default: both")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)  # of a process started from here
    options = parser.parse_args()
    if options.contender:
        print(MARK + json.dumps(contend(options.model[0], options)), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="accel-ui-real-size-") as folder:
        results = [
            {"model": model, "contender": contender, **_in_a_process(model, contender, options, folder)}
            for model in options.model or MODELS
            for contender in CONTENDERS
        ]
    print(json.dumps(results, indent=2) if options.json else _table(results))


def _in_a_process(model: str, contender: str, options: argparse.Namespace, folder: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--model", model, "--contender", contender, "--device", options.device]
    command += ["--rounds", str(options.rounds), *(["--small"] if options.small else [])]
    print(f"{model}: {contender}", file=sys.stderr, flush=True)
    env = {**os.environ, "ACCEL_UI_CACHE_DIR": f"{folder}/cache", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1][:300]}


def _table(results: list[dict[str, Any]]) -> str:
    def cells(result: dict[str, Any]) -> tuple[str, ...]:
        names = result["model"].rpartition("/")[2], result["contender"]
        if "failed" in result:
            return *names, "-", result["failed"], "", "", ""
        middle = median(result["seconds"])
        over = f"{middle / result['floor']:.2f} x" if result["floor"] else ""
        memory = f"{result['memory'] / 1e9:.1f} GB" if result["memory"] else ""
        return *names, f"{middle:.3f}", in_words(result["seconds"], 3), over, f"{result['first']:.1f} s", memory

    floors = dict.fromkeys(result["floor_words"] for result in results if result.get("floor_words"))
    return lines(HEAD, map(cells, results)) + "\n\n" + "\n".join(floors)


def contend(model: str, options: argparse.Namespace) -> dict[str, Any]:
    """Builds the pipeline and draws; seconds of each picture, of the first one, and the floor."""
    import torch

    from accel_ui.catalogue import CATALOGUE
    from benchmarks import floor
    from benchmarks.real_models import build

    pipe = build(model, options.device, small=options.small)
    preset = CATALOGUE[model].presets[0]
    size, steps, tokens = (64, 2, 64) if options.small else (preset.height, preset.steps, preset.max_sequence_length)
    numbers = {"height": size, "width": size, "num_inference_steps": steps, "max_sequence_length": tokens}

    def plain(seed: int) -> None:
        generator = torch.Generator("cpu").manual_seed(seed)
        pipe(prompt="a red house", guidance_scale=preset.guidance_scale, generator=generator, **numbers)

    rates = floor.measured_rates(options.device, small=options.small)
    work = floor.counted_work(pipe, lambda: plain(0)) if options.contender == "bare" else []
    if options.contender == "Accel UI":
        draw = _manager(pipe, model, options, preset.guidance_scale)
    else:
        draw = plain
        if options.contender == "bare compiled":
            pipe.transformer.compile()
    took = []
    for number in range(options.rounds + 2):  # the first compiles, the second settles
        started = time.perf_counter()
        draw(number)
        floor.synchronize(options.device)
        took.append(time.perf_counter() - started)
    least = sum(call.floor(rates) for call in work)
    flops, read = sum(call.flops for call in work), sum(call.bytes for call in work)
    words = (
        f"{model}: {flops / 1e12:.1f} TFLOP and {read / 1e9:.1f} GB of weights a picture; this device was seen to do "
        f"{rates.flops / 1e12:.1f} TFLOP/s (bfloat16 matrix product) and {rates.bytes / 1e12:.2f} TB/s (copy): {least:.3f} s"
    )
    return {
        "seconds": took[2:],
        "first": took[0],
        "floor": least,
        "floor_words": words if work else "",
        "memory": torch.cuda.max_memory_allocated() if options.device == "cuda" else 0,
    }


def _manager(pipe: Any, model: str, options: argparse.Namespace, guidance: float):
    """Accel UI around the pipeline that is already built, in place of one that from_pretrained reads."""
    from accel_ui import engine, survey
    from accel_ui.manager import PipelineManager
    from accel_ui.requests import Done
    from accel_ui.settings import Settings
    from accel_ui.weights import ComponentSize

    sizes = [
        ComponentSize(name, {"BF16": sum(value.numel() for value in part.parameters())})
        for name, part in pipe.components.items()
        if hasattr(part, "parameters")
    ]
    survey.read_sizes = lambda *arguments, **options: sizes
    engine.load_pipeline = lambda *arguments, **options: pipe
    folder = Path(tempfile.mkdtemp(prefix="accel-ui-real-size-"))
    values = {"model": model, "device": options.device, "dtype": "bfloat16", "warmup": "none", "cold": "compile"}
    if options.small:
        values["presets"] = folder / "presets.toml"
        values["presets"].write_text(SMALL_PRESET.format(guidance))
    manager = PipelineManager(Settings(**values, cache_dir=folder / "cache", output_dir=folder / "pictures"))
    manager.start()
    manager.wait_until_loaded()

    def draw(seed: int) -> None:
        *_, last = manager.generate(manager.request("a red house", "square", seed))
        if not isinstance(last, Done):
            raise SystemExit(last.reason)
        if last.result.mode != "compile":
            raise SystemExit(f"Accel UI ran eagerly: {manager.preset_state('square')[1]}")

    return draw


if __name__ == "__main__":
    main()
