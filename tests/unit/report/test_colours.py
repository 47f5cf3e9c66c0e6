"""Colours that everybody can tell apart, in grey too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tisim.analysis.pictures.colours import COLOURS, MEANINGS, rgb
from tisim.analysis.timeline.columns import STATES

# What people see who lack a kind of cones: Machado, Oliveira and Fernandes (2009), severity 1.
MATRICES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.9505], [1.0], [1.089]])


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as somebody sees it."""
    parts = np.array(rgb(colour)) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(seen @ linear, 0, 1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_state_has_a_colour_and_a_meaning() -> None:
    assert tuple(COLOURS) == tuple(MEANINGS) == STATES


def test_no_two_are_one_grey() -> None:
    lightness = {state: lab(colour, np.eye(3))[0] for state, colour in COLOURS.items()}
    lightness["white"] = 100.0
    for one, other in itertools.combinations(lightness, 2):
        assert abs(lightness[one] - lightness[other]) > 5.5, (one, other)


@pytest.mark.parametrize("eyes", MATRICES)
def test_all_can_be_told_apart(eyes: str) -> None:
    """A difference of 2.3 is just noticeable side by side."""
    seen = {state: lab(colour, MATRICES[eyes]) for state, colour in COLOURS.items()}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 6, (one, other)
