"""Measurements on real material, compared with peers in the same run. Never timed tests."""

import os

# As the command line does, before numpy is imported: on a busy machine its threads wait for each other at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
