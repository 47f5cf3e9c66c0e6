"""What users build on stays as it is (docs/stability.md); more may come."""

from __future__ import annotations

from tests.unit.project.public_names import STORED, public_names


def test_no_public_name_or_parameter_is_lost() -> None:
    """If one is to go, or a default to change, docs/stability.md says how.

    Then ``python -m tests.unit.project.public_names`` stores the names anew.
    """
    assert sorted(set(STORED.read_text().splitlines()) - set(public_names())) == []
