"""What tells one state of a store from another, so that what was read of a state is read once."""

from __future__ import annotations

from collections.abc import Hashable

# Two versions that a thread was told are equal only if nobody wrote between. None is equal to none: nothing that was
# read then may be kept. Versions of several threads cannot be compared.
Version = Hashable | None
