"""Trials with coding agents: count the tokens that an agent reads before it can answer, with different tools."""
