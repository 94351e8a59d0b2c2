"""Ablation of code search: what each feature group, heuristic and constant gains."""
