"""One picture on many devices: the processes that torchrun starts, each with its share of the denoiser.

Rank 0 serves and decides; the others do what it tells them. Every rank makes the same pipeline call with the same seed,
and all of them end a run at the same step. In each rank one thread alone takes part in collectives: the
accelerator's thread in rank 0, the main thread in the others.
"""
