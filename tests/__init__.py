import os

# Set before numpy is imported, as the command line does: on a busy machine, numpy's threads slow each other down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
