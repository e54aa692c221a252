"""The app under torchrun: several processes on the emulated neuron device of `tests/neuron`, with gloo between them.

Each file starts one server, which its last test ends: starting the processes takes longer than what they draw.
"""
