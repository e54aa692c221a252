"""Measures Accel UI beside what a user would pick instead: `python -m accel_ui bench`.

bare.py, usual_space.py   the two others, written plainly
child.py, processes.py    each contender runs in a process of its own; visitor.py asks a server over HTTP
parts/                    what is measured, a file a subject
bench.py, table.py        all of it, and the table
real_size.py              FLUX.2-klein-4B and FLUX.1-schnell without their weights, alone on one GPU
"""
