"""The models that a configuration makes, against numbers worked out from SimGrid's source."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim import _core
from tisim.config import Config
from tisim.config.kinds import OverheadTable, StepTable
from tisim.config.table import CollectiveFiles, CpuModel, NetworkModel, Overheads, Protocol
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.host_properties import overheads_by_host
from tisim.simulation.settings import Settings

PLATFORMS = Path(__file__).parents[3] / "platforms"


def test_the_default_models_are_the_default_configuration() -> None:
    assert NetworkModel.from_config(Config()) == NetworkModel()
    assert CpuModel.from_config(Config()) == CpuModel()
    assert Protocol.from_config(Config()) == Protocol()
    assert Overheads.from_config(Config()) == Overheads()
    assert Overheads().send == OverheadTable((0.0,), (0.0,), (0.0,))


@pytest.mark.parametrize(
    ("size", "latency", "bandwidth"),
    [
        (0, 1.0, 1.0),
        (1, 2.01467, 0.812084),
        (257, 2.01467, 0.812084),
        (258, 1.95341, 0.338112),
        (65472, 3.48845, 0.697866),
        (1e9, 11.6436, 0.940694),
    ],
)
def test_smpi_factors(size: float, latency: float, bandwidth: float) -> None:
    network = NetworkModel()
    assert network.latency_factor.at(size) == latency
    assert network.bandwidth_factor.at(size) == bandwidth


def test_overheads_by_size() -> None:
    table = OverheadTable.parse("10:5:1;1:3:2")
    assert [table.at(size) for size in (0, 1, 2, 10, 11)] == [3.0, 5.0, 7.0, 23.0, 16.0]
    assert OverheadTable().at(5) == 0.0


def test_raw_is_plain() -> None:
    network = NetworkModel.from_config(Config({"network/model": "raw"}))
    assert (network.tcp_gamma, network.weight_s, network.crosstraffic) == (0.0, 0.0, False)
    assert network.bandwidth_factor.at(1) == 1.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: NetworkModel(bandwidth_factor=StepTable.constant(0)),
            "factor must be above zero",
        ),
        (lambda: NetworkModel(loopback_bandwidth=0), "loopback-bw must be above zero"),
        (lambda: NetworkModel(weight_s=-1), "must not be negative"),
        (lambda: NetworkModel(precision_timing=0), "precision/timing must be above zero"),
        (lambda: Protocol(eager_threshold=2, detached_threshold=1), "must not be above"),
    ],
)
def test_impossible_models(make: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make()  # type: ignore[operator]


def test_overheads_of_hosts(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><zone id="w" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-2" speed="1" bw="1" lat="0">'
        '<prop id="smpi/os" value="0:1:0"/></cluster><zone id="z" routing="Full">'
        '<host id="a" speed="1"/><host id="b" speed="1"><prop id="smpi/or" value="0:2:0"/></host>'
        "</zone></zone></platform>"
    )
    overheads = Overheads.from_config(Config({"smpi/ois": "0:3:0"}))
    kinds, numbers = overheads_by_host(overheads, Platform.load(path))
    assert numbers == [1, 1, 1, 0, 2]
    assert [kind.send.at(0) for kind in kinds] == [0.0, 1.0, 0.0]
    assert [kind.receive.at(0) for kind in kinds] == [0.0, 0.0, 2.0]
    assert [kind.isend.at(0) for kind in kinds] == [3.0] * 3
    path.write_text(path.read_text().replace("0:2:0", "zero"))
    with pytest.raises(InputError, match="property smpi/or of a host"):
        overheads_by_host(overheads, Platform.load(path))


def test_adjustments_of_computations(tmp_path: Path) -> None:
    path = tmp_path / "speedups.csv"
    path.write_text('"start:stop","ratio"\n"a.f:30:a.f:130",1.25\n\n"b.f:1:b.f:2",0.5\n')
    graphene = Platform.load(PLATFORMS / "graphene.xml")
    config = Config({"smpi/comp-adjustment-file": str(path)})
    assert Settings(graphene, config).speedups == {"a.f:30:a.f:130": 1.25, "b.f:1:b.f:2": 0.5}
    path.write_text('"start:stop","ratio"\n"a.f:30:a.f:130",fast\n')
    with pytest.raises(InputError, match="a line is") as caught:
        Settings(graphene, config)
    assert caught.value.line == 2
    path.unlink()
    with pytest.raises(InputError, match="cannot read this smpi/comp-adjustment-file"):
        Settings(graphene, config)


def test_the_core_receives_every_field_from_the_table() -> None:
    """The core has no defaults: each of its fields is a row, or is made of several."""
    rows = [
        name
        for record in (NetworkModel, CpuModel, Protocol)
        for name, parameter in record.parameters()
        if parameter.core
    ]
    made = ["overheads", "synchronised", *CollectiveFiles().model_fields()]
    assert sorted([*rows, *made]) == sorted(_core.Model.fields())


def test_the_core_refuses_fields_that_are_missing_unknown_or_out_of_range() -> None:
    settings = Settings(Platform.load(PLATFORMS / "graphene.xml"))
    values = {name: getattr(settings.model, name) for name in _core.Model.fields()}
    assert _core.Model(**values).weight_s == 8775.0
    for change, says in (
        ({"weight_s": -1.0}, "weight_s is a finite number that is not negative"),
        ({"envelope": float("nan")}, "envelope is a finite number"),
        ({"eager_threshold": 2**40}, "eager_threshold must not be"),
        ({"overheads": []}, "overheads must have a first kind"),
    ):
        with pytest.raises(ValueError, match=says):
            _core.Model(**values | change)
    with pytest.raises(TypeError, match="none of its fields"):
        _core.Model(**values, colour=1)
    with pytest.raises(TypeError, match="no field weight_s of that type"):
        _core.Model(**values | {"weight_s": "heavy"})
    del values["tcp_gamma"]
    with pytest.raises(TypeError, match="needs the keyword tcp_gamma"):
        _core.Model(**values)


def test_the_envelope_reaches_the_core(tmp_path: Path) -> None:
    """A message of 1000 bytes and its envelope at 1000 bytes/s."""
    (tmp_path / "r0").write_text("0 send 1 0 1000 6\n")
    (tmp_path / "r1").write_text("1 recv 0 0 1000 6\n")
    path = tmp_path.with_suffix(".xml")
    path.write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1"/>'
        '<host id="b" speed="1"/><link id="l" bandwidth="1000" latency="0"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
    )
    for config, seconds in (({}, 1.016), ({"tisim/envelope": 500}, 1.5)):
        config = {"network/model": "raw", **config}
        result = tisim.replay(tmp_path, platform=path, config=config)
        assert result.simulated_time == pytest.approx(seconds, rel=1e-9)
