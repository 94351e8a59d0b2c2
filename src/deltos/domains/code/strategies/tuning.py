"""Constants of the search strategies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StrategyTuning:
    """Limits of exact, message and trace search; set by hand for the speed and recall of benchmarks/error_messages.py.

    - `message_chunks`, `message_candidates`: number of chunks that are compared with a definite error message, and
      number of chunks from which they are chosen.
    - `message_projects`: maximum number of projects searched for a message.
    - `max_message_hits_before_frames`: locations of a message shown before the stack frames of its trace.
    - `weak_confidence`, `max_weak_lead`: an answer is a weak match if the first hit's confidence is below
      `weak_confidence` and exceeds the second hit's confidence by at most the share `max_weak_lead` of the first hit's
      confidence.
    - `very_weak_confidence`: an answer with a lower confidence is always a weak match. The first hit is wrong in 81 %
      of the weak matches for held-out questions that the project answers.
    """

    message_chunks: int = 40
    message_candidates: int = 200
    message_projects: int = 12
    max_message_hits_before_frames: int = 2
    weak_confidence: float = 0.25
    max_weak_lead: float = 0.35
    very_weak_confidence: float = 0.1


STRATEGIES = StrategyTuning()
