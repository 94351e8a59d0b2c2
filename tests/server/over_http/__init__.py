"""Tests of `deltos.server.http`. The folder is not named `http`, because the script `toyserver.py` would import it
instead of the standard library module."""
