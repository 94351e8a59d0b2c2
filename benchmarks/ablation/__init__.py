"""Ablation of code search: how much the results get worse without each feature group, heuristic or constant."""
