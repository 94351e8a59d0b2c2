"""Measurements of Deltos on real material, compared with other tools in the same run."""

import os

# As the command line does, before numpy is imported: on a busy machine its threads wait for each other at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
