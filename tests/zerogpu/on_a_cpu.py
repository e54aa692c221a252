"""`python on_a_cpu.py app.py`: the app with the real package `spaces`, and stand-ins for the GPU and for the scheduler.

Real: everything of `spaces` in the serving process (the emulation of CUDA in its first thread alone, the hook in
`launch`, the check for a decorated function), the forked process of each run, its queues, its pickling. Stand-in: that
process has no GPU, so the emulation of CUDA goes on in all of its threads; and weights are not packed to disk.
"""

from __future__ import annotations

import runpy
import sys
import threading
from pathlib import Path

import torch

# What `spaces` and the cuda backend look for; this torch is built for the CPU.
torch.version.cuda = "12.8"
torch._C._cuda_init = None
torch.cuda._is_in_bad_fork = bool  # False, and it can be pickled

import spaces  # noqa: E402, F401
from spaces.zero import torch as emulation  # noqa: E402


def emulate_everywhere() -> None:
    """In the forked process, in the place of `unpatch`."""
    run = threading.Thread.run

    def emulating(thread: threading.Thread) -> None:
        emulation.enter_mode()
        run(thread)

    threading.Thread.run = emulating


emulation.unpatch = emulate_everywhere
emulation.init = lambda uuid: None
emulation.move = lambda callback: None
emulation.pack = lambda: 0

sys.argv = sys.argv[1:]
sys.path.insert(0, str(Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
