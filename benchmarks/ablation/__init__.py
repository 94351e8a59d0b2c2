"""Ablation of code search: the loss of quality without each feature group, heuristic or constant."""
