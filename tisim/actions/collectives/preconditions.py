"""What some algorithms demand of a communicator."""

from __future__ import annotations

from tisim.errors import InputError


def is_power_of_two(size: int) -> bool:
    """Whether `size` is 1, 2, 4, 8..."""
    return size & (size - 1) == 0


def demand_power_of_two(size: int, user: str) -> None:
    """Raise an `InputError` that names `user` when `size` is not a power of two."""
    if not is_power_of_two(size):
        raise InputError(
            f"{user} needs a number of ranks that is a power of two, not {size}: "
            "choose another algorithm"
        )
