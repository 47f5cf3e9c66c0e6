"""Columns of frames, made from the core's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def words(numbers: Any, names: Sequence[str]) -> Any:
    """A column of words, which takes a byte a row; `names` by their numbers."""
    import numpy as np
    import pandas as pd

    used = np.unique(numbers)
    place = np.zeros(256, dtype=np.int8)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[numbers], categories=[names[number] for number in used])


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """A frame of columns, whatever rows they were taken from."""
    import numpy as np
    import pandas as pd

    return pd.DataFrame(
        {
            name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
            for name, column in columns.items()
        }
    )
