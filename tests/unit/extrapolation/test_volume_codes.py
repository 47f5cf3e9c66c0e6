"""Codes of whole volumes, as packed traces hold them."""

from __future__ import annotations

import numpy as np
import pytest

from tisim.errors import InputError
from tisim.traces.extrapolation.volumes import code_of, codes_of, value_of


@pytest.mark.parametrize("value", [0, 7, 999_999, 1_000_000, (1 << 50) - 1, 1 << 50, 10**17 - 1])
def test_a_code_stands_for_its_number(value: int) -> None:
    assert value_of(code_of(value)) == value


def test_more_than_17_digits_are_refused() -> None:
    with pytest.raises(InputError, match="17 digits"):
        codes_of(np.array([10**17], dtype=np.int64))
    with pytest.raises(InputError, match="17 digits"):
        code_of(10**18)
