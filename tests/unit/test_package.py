"""The public names of the package, and its errors."""

from __future__ import annotations

import pickle

import pytest

import tisim
from tisim.errors import InputError, SimulationError, TisimError


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'repaly'"):
        _ = tisim.repaly


def test_an_input_error_begins_with_its_place() -> None:
    assert str(InputError("no such host", file="a.xml", line=3)) == "a.xml:3: no such host"
    assert str(InputError("no such host", file="a.xml")) == "a.xml: no such host"
    assert str(InputError("no such host")) == "no such host"
    assert issubclass(InputError, TisimError)
    assert issubclass(SimulationError, TisimError)


def test_an_input_error_crosses_processes() -> None:
    error = pickle.loads(pickle.dumps(InputError("no such host", file="a.xml", line=3)))
    assert (error.message, error.file, error.line) == ("no such host", "a.xml", 3)
