"""One compiled graph per (target, preset), kept on disk; a second one is refused.

What a graph depends on: the model's code and config, the dtype, the device, the batch size, the picture's
size, the prompt's length in tokens, whether guidance doubles the batch, grad mode. Not: weights, prompt,
seed, number of steps, guidance value. `artifacts.py` turns that into a key.
"""
