"""Accel UI: a diffusers text-to-image demo that never stalls on a recompile."""

__version__ = "0.1.0"
