"""Benchmarks of Deltos on real data, with other tools measured in the same run."""

import os

# Set before numpy is imported, as in the command line: on a busy machine, OpenBLAS threads that wait use full cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
