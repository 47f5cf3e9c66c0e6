"""Heat maps have room for the names of their axes."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from tisim.analysis.report.charts import heat_map

LONG = "latency[AS_sgraphene1_link_0_limiter]"


def test_long_names_of_axes_are_not_cut() -> None:
    drawn = ET.fromstring(
        heat_map(
            [[1.0, 2.0]],
            ["1"],
            ["5us", "10us"],
            row_label=f"rows of {LONG}",
            column_label=f"columns of {LONG}",
            show=str,
        )
    )
    width = float(drawn.get("width", 0))
    places = {text.text: (float(text.get("x", 0)), text.get("y")) for text in drawn.iter("text")}
    for name in ("rows of ", "columns of "):
        left, _ = places[name + LONG]
        assert left + 6.5 * len(name + LONG) < width
    # The name of the rows has a line of its own.
    assert [y for _, y in places.values()].count(places["rows of " + LONG][1]) == 1
