"""Pictures as axes of matplotlib, and what notebooks show of objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

import tisim
from tisim.errors import InputError, TisimError

mpl.use("agg")
ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms/graphene.xml"


@pytest.fixture(scope="module")
def lu() -> tisim.Result:
    return tisim.replay(ROOT / "traces/npb.S.tar.xz/lu.S.4", platform=GRAPHENE, event_log=True)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_gantt_chart_has_the_time_and_every_rank(lu: tisim.Result) -> None:
    axes = lu.plot.gantt(begin=0.0385, end=0.0402)
    assert axes.get_xlabel() == "simulated time, ms"
    assert axes.get_xlim() == pytest.approx((38.5, 40.2))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "1", "2", "3"]
    legend = axes.get_legend()
    assert legend is not None
    assert any("late sender" in text.get_text() for text in legend.get_texts())
    with pytest.raises(InputError, match="draw a part of that"):
        lu.plot.gantt(begin=1.0)


def test_bars_of_the_breakdown_add_up(lu: tisim.Result) -> None:
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    axes = lu.plot.breakdown(given)
    assert axes is given
    ends = [0.0] * 4
    for bars in axes.containers:
        for rank, bar in enumerate(bars):
            ends[rank] += bar.get_width()
    assert ends == pytest.approx([1e3 * end for end in lu.finish])


def test_the_matrix_has_what_was_sent(lu: tisim.Result) -> None:
    for what in ("bytes", "messages"):
        (image,) = lu.plot.matrix(what=what).get_images()
        data = image.get_array()
        assert data is not None
        assert float(data.sum()) == lu.matrix[what].sum()
    with pytest.raises(InputError, match="bytes or messages"):
        lu.plot.matrix(what="flops")


def test_links_and_path(lu: tisim.Result) -> None:
    axes = lu.plot.links()
    assert "graphene-0.nancy.grid5000.fr, up" in [t.get_text() for t in axes.get_yticklabels()]
    (line,) = lu.plot.path().get_lines()
    assert max(line.get_xdata()) == pytest.approx(1e3 * lu.simulated_time)


def test_there_are_no_pictures_without_an_event_log() -> None:
    result = tisim.replay(ROOT / "traces/ring.4", platform=GRAPHENE)
    with pytest.raises(TisimError, match="event_log=True"):
        _ = result.plot


def test_notebooks_show_objects_as_tables(lu: tisim.Result, tmp_path: Path) -> None:
    assert '<td style="text-align:left">0.0793505345 s</td>' in lu._repr_html_()
    assert ">hosts<" in tisim.Platform.load(GRAPHENE)._repr_html_()
    trace = tmp_path / "a<b.txt"
    trace.write_text("0 compute 1\n")
    shown = tisim.Trace.open(trace)._repr_html_()
    assert "a&lt;b.txt" in shown and "a<b.txt" not in shown
