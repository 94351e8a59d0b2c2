"""Tests of `deltos.server.http`. Not called so: `toyserver.py`, a script beside it, would take it for the library."""
