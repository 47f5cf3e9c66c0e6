"""Configurations: the table of parameters, and the values that a user gives them."""

from tisim.config.configuration import Config, ConfigLike

__all__ = ["Config", "ConfigLike"]
