"""Tests of the benchmarks' own rules: renaming, counting and grading."""
