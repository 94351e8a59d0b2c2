"""Interface of embedders, which return unit vectors and the identity of their model."""

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
    """A text to embed, both as written and as index words (stemmed words without stop words)."""

    text: str
    words: str


class Embedder(Protocol):
    """Interface for embedding texts as unit vectors. The vector of a text without a known word is zero."""

    @property
    def identity(self) -> str:
        """Name and version of the model. Vectors are comparable only if the identities are equal."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return one unit vector per text. Raise EmbedderUnavailable if the model cannot be reached."""

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the unit vector of a question. Raise EmbedderUnavailable if the model cannot be reached."""
