import os

# As the command line does, before numpy is imported: on a busy machine numpy's threads slow each other down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
