"""The messages that matter, where there are too many to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def longest_awaited(messages: NDArray[np.void], most: int) -> NDArray[np.void]:
    """Messages that have arrived, those first whose receivers waited for them longest.

    Parameters
    ----------
    messages
        Rows of the core's `message_type`.
    most
        How many at most.
    """
    import numpy as np

    arrived, received = messages["arrived"], messages["received"]
    waited = np.where((arrived >= 0) & (received >= 0), arrived - received, 0.0)
    first: NDArray[np.void] = messages[np.argsort(-waited, kind="stable")[:most]]
    return first[first["arrived"] >= 0]
