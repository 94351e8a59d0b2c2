"""Protocol of embedders: unit vectors, and an identity of comparable vectors."""

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
    """A text as written, and as index words, which are available wherever texts are indexed or queried."""

    text: str
    words: str


class Embedder(Protocol):
    """Embeds texts as unit vectors; a text without a known word becomes zeros."""

    @property
    def identity(self) -> str:
        """Name and version of the model; vectors of different identities are not comparable."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return one row per text. Raises EmbedderUnavailable if the model cannot be reached."""

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the vector of a question. Raises EmbedderUnavailable if the model cannot be reached."""
