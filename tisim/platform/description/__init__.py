"""Descriptions of platforms: elements, their grammar, and their form as XML."""
