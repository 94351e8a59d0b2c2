"""Tests of the fuzzing harness, and a short fuzzing run on every target."""
