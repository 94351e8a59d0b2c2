"""Protocol of embedders, which return unit vectors and identify the model that computed them."""

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
    """A text to embed: as written, and as the index words that indexing and queries compute anyway."""

    text: str
    words: str


class Embedder(Protocol):
    """Interface for embedding texts as unit vectors; a text without a known word becomes zeros."""

    @property
    def identity(self) -> str:
        """Name and version of the model; vectors of models with different identities are not comparable."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return one unit vector per text; raise EmbedderUnavailable if the model cannot be reached."""

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the unit vector of a question; raise EmbedderUnavailable if the model cannot be reached."""
