"""Whole pipelines on an emulated Trainium: see `device.py` for the device and `compiler.py` for torch.compile.

A process can hold one device of torch's PrivateUse1 kind, so each scenario runs in a process of its own (`conftest.py`).
"""
