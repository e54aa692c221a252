"""Pipelines on the real torch_tpu package, with XLA's CPU plugin in the place of the chip (`tpu_on_cpu.py`)."""
