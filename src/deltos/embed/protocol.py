"""What every embedder promises: unit vectors, and an identity that says which ones may be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

Vectors: TypeAlias = "npt.NDArray[np.float32]"


@dataclass(frozen=True, slots=True)
class TextToEmbed:
    """A text as people read it, and as index words, which are at hand wherever something is indexed or asked."""

    text: str
    words: str


class Embedder(Protocol):
    """Turns texts into unit vectors; a text without a known word becomes zeros."""

    @property
    def identity(self) -> str:
        """Names the model and its version; vectors of different identities cannot be compared."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """One row for each text that is searched. Raises EmbedderUnavailable when the model cannot be reached."""

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of what somebody asks. Raises EmbedderUnavailable when the model cannot be reached."""
