"""Columns of Arrow from numpy's arrays, without pandas.

`pyarrow.array` looks whether an array is one of pandas, and imports pandas for that: it takes as
long as a small simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def arrow_array(values: NDArray[np.generic], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """A column with the memory of an array of numbers or truth values, shape (rows,).

    `missing` says where there is no value; None: there is always one.
    """
    import numpy as np
    import pyarrow as pa

    count = 0 if missing is None else int(np.count_nonzero(missing))
    known = None if missing is None or not count else _bits(~missing)
    if values.dtype == np.bool_:
        data, kind = _bits(values), pa.bool_()
    else:
        data = pa.py_buffer(np.ascontiguousarray(values))
        kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, data], count)


def _bits(values: NDArray[np.generic]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values.astype(np.bool_), bitorder="little"))


def numpy_array(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """The values of a column of numbers or truth values; NaN where there is none, shape (rows,)."""
    import numpy as np

    parts = [_numpy_part(chunk) for chunk in column.chunks]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, column.type.to_pandas_dtype())


def _numpy_part(chunk: pa.Array) -> NDArray[np.generic]:
    import numpy as np
    import pyarrow as pa

    known, data = chunk.buffers()
    start, count = chunk.offset, len(chunk)
    if pa.types.is_boolean(chunk.type):
        values: NDArray[np.generic] = _truths(data, start, count)
    else:
        kind = np.dtype(chunk.type.to_pandas_dtype())
        values = np.frombuffer(data, kind, count, start * kind.itemsize)
    if chunk.null_count == 0 or known is None:
        return values
    return np.where(_truths(known, start, count), values.astype(np.float64), np.nan)


def _truths(bits: pa.Buffer, start: int, count: int) -> NDArray[np.bool_]:
    import numpy as np

    every = np.unpackbits(np.frombuffer(bits, np.uint8), count=start + count, bitorder="little")
    return every[start:].astype(np.bool_)
