"""Columns of data frames, made from the core's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from tisim.analysis.timeline.units import with_units

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


def structured(rows: object) -> NDArray[np.void]:
    """Rows of the core, which come as a structured array."""
    return cast("NDArray[np.void]", rows)


def categories(numbers: NDArray[np.uint8], names: Sequence[str]) -> pd.Categorical:
    """A categorical column, which takes a byte a row.

    Parameters
    ----------
    numbers
        The number of each row's word.
    names
        The words, by their numbers.
    """
    import numpy as np
    import pandas as pd

    used = np.unique(numbers)
    place = np.zeros(256, dtype=np.int8)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[numbers], categories=[names[number] for number in used])


def frame(columns: Mapping[str, object]) -> pd.DataFrame:
    """A data frame whose columns are copied out of structured arrays, with their units."""
    import numpy as np
    import pandas as pd

    return with_units(
        pd.DataFrame(
            {
                name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
                for name, column in columns.items()
            }
        )
    )
