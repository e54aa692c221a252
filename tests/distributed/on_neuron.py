"""Runs a script or a module on the emulated neuron device, as each process that torchrun starts.

torchrun --nproc_per_node 2 tests/distributed/on_neuron.py app.py
"""

from __future__ import annotations

import runpy
import sys

from accel_ui.distributed import leader, lockstep
from distributed import faults
from neuron import collectives, compiler, device


def main() -> None:
    """`on_neuron.py SCRIPT ARGUMENTS` or `on_neuron.py -m MODULE ARGUMENTS`."""
    device.install(device.Machine(cores=8))
    compiler.register()
    collectives.register()
    faults.install()
    lockstep.ALONE = 3.0  # seconds, not 30: a test waits for them
    leader.PULSE_EVERY = 0.5  # seconds, not 15: so that pulses come between the runs of a test
    sys.argv.pop(0)
    if sys.argv[0] == "-m":
        sys.argv.pop(0)
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
