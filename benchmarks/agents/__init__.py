"""Trials with coding agents: tokens that an agent reads until it has an answer, with different tools."""
