"""Trials with coding agents: what an agent is shown until it has its answer, per way of looking."""
