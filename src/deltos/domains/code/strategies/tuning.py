"""Constants of the search strategies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StrategyTuning:
    """Limits of exact, message and trace search; set by hand for the speed and recall of benchmarks/error_messages.py.

    - `message_chunks`, `message_candidates`: chunks compared with a certain message, and chunks with most of its terms
      that are checked for adjacent words.
    - `uncertain_message_chunks`, `uncertain_message_candidates`: the same for a text that may not be a message.
    - `message_projects`: projects searched for a message.
    - `max_statement_lines`, `statement_context_lines`: lines compared with a message, and context lines around each.
    - `statement_seconds`: timeout of comparing the lines of all files.
    - `max_message_hits_before_frames`: locations of a message shown before the stack frames of its trace.
    - `subquestion_hits`: hits requested for each part of a compound question.
    - `weak_confidence`, `max_weak_lead`: the answer is called a weak match if the confidence of the first hit is below
      the former and exceeds that of the second hit by at most the latter share of it. Chosen on development
      questions, a third of which are asked of another project: the first hit is wrong in 0.93 of the weak matches
      (held-out: 0.91), and in 0.82 of those for questions that the project answers (held-out: 0.79).
    - `very_weak_confidence`: below this, the answer is a weak match in any case.
    """

    message_chunks: int = 40
    message_candidates: int = 200
    uncertain_message_chunks: int = 10
    uncertain_message_candidates: int = 80
    message_projects: int = 12
    max_statement_lines: int = 500
    statement_context_lines: int = 5
    statement_seconds: float = 1.0
    max_message_hits_before_frames: int = 2
    subquestion_hits: int = 5
    weak_confidence: float = 0.35
    max_weak_lead: float = 0.35
    very_weak_confidence: float = 0.1

    def message_limits(self, *, is_certain: bool) -> tuple[int, int]:
        """Return the maximum numbers of compared chunks and of tested candidates."""
        if is_certain:
            return self.message_chunks, self.message_candidates
        return self.uncertain_message_chunks, self.uncertain_message_candidates


STRATEGIES = StrategyTuning()
