"""Runs a script or a module on the emulated neuron device, as each process that torchrun starts.

torchrun --nproc_per_node 2 tests/distributed/on_neuron.py app.py
"""

from __future__ import annotations

import runpy
import sys

from distributed import faults
from neuron import collectives, compiler, device


def main() -> None:
    """`on_neuron.py SCRIPT ARGUMENTS` or `on_neuron.py -m MODULE ARGUMENTS`."""
    device.install(device.Machine(cores=8))
    compiler.register()
    collectives.register()
    faults.install()
    sys.argv.pop(0)
    if sys.argv[0] == "-m":
        sys.argv.pop(0)
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
