"""Classify sections as overview, guide, reference and so on; a section may have several types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.docs.pages import SECTION_SEPARATOR
from deltos.text.words import tokens

if TYPE_CHECKING:
    from deltos.store.documents import CandidateChunk

DOCUMENTATION_TYPES = frozenset(("overview", "guide", "glossary", "use-case", "reference"))
_OVERVIEW_WORDS = frozenset("overview introduction about summary readme synopsis started welcome".split())
_USE_CASE_WORDS = frozenset(
    """example examples tutorial tutorials recipe recipes cookbook howto howtos quickstart walkthrough usecase usecases
    cases""".split()
)
_GLOSSARY_WORDS = frozenset("glossary glossaries terminology vocabulary".split())
_REFERENCE_WORDS = frozenset("reference references api apis".split())


def types_of(candidate: CandidateChunk) -> frozenset[str]:
    """Return the documentation types of a section, determined from its position, heading, title and URL."""
    heading = set(tokens(candidate.section.rpartition(SECTION_SEPARATOR)[2]))
    around = set(tokens(f"{candidate.section} {candidate.title} {candidate.url.rpartition('/')[2]}"))
    is_glossary = bool(around & _GLOSSARY_WORDS)
    found = {
        "glossary": is_glossary,
        "reference": candidate.is_definition or bool(around & _REFERENCE_WORDS),
        "overview": candidate.position == 0 or bool(heading & _OVERVIEW_WORDS),
        "use-case": bool(around & _USE_CASE_WORDS),
        "guide": not candidate.is_definition and not is_glossary,
    }
    return frozenset(name for name, has_type in found.items() if has_type)
