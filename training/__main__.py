"""`python -m training`: make the embedded model from nothing, stage by stage; run it again to go on.

Every stage that is finished is skipped; one that was stopped (Ctrl-C, kill, power) goes on from its last
checkpoint.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

from . import stages
from .config import Run, default_device, default_processes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, default=Path("training-run"), help="data and checkpoints (%(default)s)")
    parser.add_argument("--export", type=Path, default=Path("training-export"), help="the pipeline (%(default)s)")
    parser.add_argument("--stages", nargs="+", choices=stages.NAMES, default=stages.NAMES, help="only these")
    parser.add_argument("--hours", type=float, default=math.inf, help="stop training in time, then export")
    parser.add_argument("--samples", type=int, default=stages.FLOW_SAMPLES, help="for the transformer (%(default)s)")
    parser.add_argument("--start-from", type=Path, help="an exported pipeline, instead of from nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default=default_device(), help="(here: %(default)s)")
    parser.add_argument("--processes", type=int, help="on a CPU: one a core, at most two")
    options = parser.parse_args()

    processes = options.processes or default_processes(options.device)
    run = Run(options.run, options.seed, options.device, processes)
    end = time.monotonic() + options.hours * 3600
    try:
        for name in stages.NAMES:
            if name in options.stages:
                print(f"[{name}]", flush=True)
                left = max(0.0, end - time.monotonic())
                stages.perform(name, stages.Plan(run, options.export, left, options.samples, options.start_from))
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from the last checkpoint")


if __name__ == "__main__":
    main()
