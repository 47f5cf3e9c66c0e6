"""Options: spellings, values, merging, the models built from them, and their documentation."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import tisim
from tests.support import ROOT, platform_file, write_trace
from tisim import Config, _core
from tisim.config.kinds import FACTORS, OverheadTable, StepTable
from tisim.config.parameter import Parameter
from tisim.config.table import (
    OPERATIONS,
    PARAMETERS,
    CollectiveFiles,
    CpuModel,
    NetworkModel,
    Overheads,
    Protocol,
    canonical,
)
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.host_properties import overheads_by_host
from tisim.simulation.settings import Settings


@dataclass
class Item:
    key: str
    value: str
    file: str = "p.xml"
    line: int = 4


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("smpi/async_small_thres", "smpi/async-small-thresh"),
        ("smpi/async_small_thresh", "smpi/async-small-thresh"),
        ("smpi/async-small-thresh", "smpi/async-small-thresh"),
        ("smpi/send_is_detached_thres", "smpi/send-is-detached-thresh"),
        ("smpi/bw_factor", "smpi/bw-factor"),
        ("network/bandwidth_factor", "network/bandwidth-factor"),
        ("network/TCP_gamma", "network/TCP-gamma"),
        ("network/weight_S", "network/weight-S"),
        ("surf/precision", "precision/timing"),
        ("maxmin/precision", "precision/work-amount"),
        ("workstation/model", "host/model"),
        ("smpi/reduce-scatter", "smpi/reduce_scatter"),
        ("smpi/coll_selector", "smpi/coll-selector"),
        ("smpi/finalization-barrier", "smpi/barrier-finalization"),
        ("smpi/running_power", "smpi/host-speed"),
        ("tracing/smpi/format/ti_one_file", "tracing/smpi/format/ti-one-file"),
    ],
)
def test_historical_spellings(spelling: str, key: str) -> None:
    assert canonical(spelling) == key
    assert key in PARAMETERS


def test_defaults_are_those_of_smpirun() -> None:
    config = Config()
    assert config["network/model"] == "SMPI"
    assert config["network/weight-S"] == 8775.0
    assert config["network/crosstraffic"] is True
    assert config["smpi/send-is-detached-thresh"] == 65536
    assert config["surf/precision"] == 1e-9
    assert config["network/loopback-bw"] == 10e9
    assert config["smpi/coll-selector"] == "default"


@pytest.mark.parametrize(
    ("model", "weight", "gamma", "crosstraffic", "factor"),
    [
        ("LV08", 20537.0, 4194304.0, True, 13.01),
        ("CM02", 0.0, 4194304.0, True, 1.0),
        ("raw", 0.0, 0.0, False, 1.0),
    ],
)
def test_models_bring_their_defaults(
    model: str, weight: float, gamma: float, crosstraffic: bool, factor: float
) -> None:
    config = Config({"network/model": model})
    assert config["network/weight-S"] == weight
    assert config["network/TCP-gamma"] == gamma
    assert config["network/crosstraffic"] is crosstraffic
    assert config["network/latency-factor"] == StepTable.constant(factor)
    assert Config({"network/model": model, "network/weight-S": 5})["network/weight-S"] == 5.0


def test_values_of_every_kind() -> None:
    config = Config(
        {
            "network/crosstraffic": False,
            "smpi/async-small-thresh": "4KiB",
            "smpi/os": "0:1us:2ns;1000:3us:0:7",
            "smpi/bw-factor": StepTable((0.0, 10.0), (0.5, 0.25)),
            "network/loopback-bw": "8Gbps",
            "network/loopback_lat": "3us",
            "network/weight-S": 1,
            "smpi/test": 0.5,
        }
    )
    assert config["network/crosstraffic"] is False
    assert config["smpi/async-small-thresh"] == 4096
    assert config["smpi/os"] == OverheadTable((0.0, 1000.0), (1e-6, 3 * 1e-6), (2 * 1e-9, 0.0))
    assert config["smpi/bw-factor"] == StepTable((0.0, 10.0), (0.5, 0.25))
    assert config["network/loopback-bw"] == 1e9
    assert config["network/loopback-lat"] == 3 * 1e-6
    assert config["smpi/test"] == 0.5


@pytest.mark.parametrize("word", ["yes", "on", "true", "1"])
def test_yes(word: str) -> None:
    assert Config.from_items([f"network/crosstraffic:{word}"])["network/crosstraffic"] is True


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("network/crosstraffic", "maybe", "must be yes or no"),
        ("network/model", "ns-3", "must be one of SMPI, LV08, CM02, raw, not 'ns-3'"),
        ("host/model", "ptask_L07", "must be one of default, compound"),
        ("network/weight-S", "-1", "not '-1'"),
        ("network/TCP-gamma", "big", "not 'big'"),
        ("smpi/async-small-thresh", "1.5", "whole number of bytes"),
        ("smpi/send-is-detached-thresh", "9223372036854775808", r"must be below 2\^63"),
        ("tisim/jitter-seed", "18446744073709551616", r"must be below 2\^63"),
        (
            "smpi/os",
            "0:1",
            "a row of the table must be boundary:seconds:seconds per byte, not '0:1'",
        ),
        ("smpi/os", "0:1:2;0:3:4", "boundary 0 occurs twice"),
        ("smpi/or", "0:1x:2", "unknown unit 'x'"),
        ("smpi/bw-factor", "0:zero", "a factor must be a non-negative number"),
        ("smpi/bw-factor", "", "a factor must be a non-negative number"),
        ("network/loopback-bw", "0", "must be above zero"),
        ("surf/precision", "1ly", "unknown unit 'ly'"),
        ("network/tolerance", "0.2", "must be at most 0.1"),
    ],
)
def test_bad_values(key: str, value: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        Config({key: value})
    assert str(canonical(key)) in caught.value.message


def test_unknown_options() -> None:
    with pytest.raises(InputError, match="did you mean smpi/async-small-thresh"):
        Config({"smpi/asynk-small-thresh": 1})
    with pytest.raises(InputError, match=r"unknown option 'frobnicate'$"):
        Config.from_items(["frobnicate=1"])
    config = Config.from_platform([Item("smpi/asynk-small-thresh", "1"), Item("smpi/os", "0:1:2")])
    (warning,) = config.warnings
    assert warning.startswith("p.xml:4: unknown option 'smpi/asynk-small-thresh' is ignored; did")
    assert list(config) == ["smpi/os"]
    with pytest.raises(InputError, match="option smpi/os") as caught:
        Config.from_platform([Item("smpi/os", "x")])
    assert (caught.value.file, caught.value.line) == ("p.xml", 4)


def test_items() -> None:
    config = Config.from_items(
        [
            "smpi/os=0:1:2;10:3:4",
            "--cfg=smpi/or:0:1:2 network/crosstraffic:no,smpi/test:1",
            "network/weight_S:1",
            "network/weight-S=2",
        ]
    )
    assert config["smpi/os"] == OverheadTable((0.0, 10.0), (1.0, 3.0), (2.0, 4.0))
    assert config["smpi/or"] == OverheadTable((0.0,), (1.0,), (2.0,))
    assert config["network/crosstraffic"] is False
    assert config["network/weight-S"] == 2.0
    for bad in ("smpi/os", "=1", "smpi/os:0:1:2 x"):
        with pytest.raises(InputError, match="an option must be KEY=VALUE or KEY:VALUE"):
            Config.from_items([bad])


def test_the_stronger_wins() -> None:
    platform = Config.from_platform(
        [Item("smpi/bw-factor", "0:0.5"), Item("smpi/os", "0:1:1"), Item("network/model", "SMPI")]
    )
    merged = platform.merged(Config({"network/bandwidth-factor": 0.75, "smpi/or": "0:2:2"}))
    assert (
        merged["network/bandwidth-factor"] == merged["smpi/bw-factor"] == StepTable.constant(0.75)
    )
    assert merged["smpi/os"] == OverheadTable((0.0,), (1.0,), (1.0,))
    assert merged["smpi/or"] == OverheadTable((0.0,), (2.0,), (2.0,))
    assert platform["network/bandwidth-factor"] == StepTable((0.0,), (0.5,))
    assert "network/bandwidth-factor" in merged
    assert "smpi/bw-factor" not in merged


@pytest.mark.parametrize("model", ["SMPI", "LV08"])
@pytest.mark.parametrize("order", [1, -1])
def test_each_model_reads_its_own_of_two_names(model: str, order: int) -> None:
    both = {"smpi/bw-factor": "0:0.5", "network/bandwidth-factor": "0.75"}
    given = Config({**dict([*both.items()][::order]), "network/model": model})
    own = {"SMPI": "0:0.5", "LV08": "0.75"}[model]
    for config in (given, Config().merged(given), given.merged(Config({"smpi/os": "0:1:1"}))):
        assert config.as_dict()["network/bandwidth-factor"] == own


def test_smpi_factors_are_for_the_smpi_model() -> None:
    config = Config({"network/model": "LV08", "smpi/bw-factor": "0:0.5"})
    assert config["network/bandwidth-factor"] == StepTable.constant(0.97)
    assert config.ignored == ("smpi/bw-factor",)


def test_thresholds_must_fit() -> None:
    with pytest.raises(InputError, match=r"async-small-thresh .100000. must not be above"):
        Config({"smpi/async-small-thresh": 100_000})
    weak = Config.from_platform([Item("smpi/async-small-thresh", "100000")])
    strong = Config({"smpi/send-is-detached-thresh": 200_000})
    assert weak.merged(strong)["smpi/async-small-thresh"] == 100_000
    with pytest.raises(InputError, match="must not be above"):
        weak.merged(Config())


def test_options_without_effect() -> None:
    config = Config({"contexts/factory": "raw", "smpi/host-speed": "1Gf", "network/optim": "Full"})
    assert config.ignored == ("contexts/factory", "smpi/host-speed", "network/optim")
    assert config.warnings == ()
    assert Config({"maxmin/concurrency-limit": -1}).warnings == ()
    (warning,) = Config({"maxmin/concurrency_limit": 100}).warnings
    assert "maxmin/concurrency-limit=100 is not simulated" in warning


def test_as_dict_is_json_and_reads_back() -> None:
    config = Config({"smpi/os": "0:1e-7:1e-10;500:2us:0", "network/model": "LV08"})
    values = json.loads(json.dumps(config.as_dict()))
    assert values["network/model"] == "LV08"
    assert values["network/bandwidth-factor"] == "0.97"
    assert values["smpi/os"] == "0:1e-07:1e-10;500:2e-06:0.0"
    assert "contexts/factory" not in values
    assert Config(values).as_dict() == values


def test_a_configuration_is_a_value() -> None:
    one, two = Config({"smpi/test": "1"}), Config({"smpi/test": 1.0})
    assert one == two
    assert hash(one) == hash(two)
    assert one != Config()
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Config({'smpi/test': 1.0})"
    assert len(one) == 1


PLATFORMS = ROOT / "platforms"


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
    path = platform_file(
        tmp_path,
        '<zone id="w" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-2" speed="1" bw="1" lat="0">'
        '<prop id="smpi/os" value="0:1:0"/></cluster><zone id="z" routing="Full">'
        '<host id="a" speed="1"/><host id="b" speed="1"><prop id="smpi/or" value="0:2:0"/></host>'
        "</zone></zone>",
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
    with pytest.raises(InputError, match="a line must be") as caught:
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
        ({"weight_s": -1.0}, "weight_s must be a finite non-negative number, not"),
        ({"envelope": float("nan")}, "envelope must be a finite non-negative number,"),
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
    trace = write_trace(tmp_path, "send 1 0 1000 6", "recv 0 0 1000 6")
    path = platform_file(
        tmp_path,
        '<zone id="z" routing="Full"><host id="a" speed="1"/><host id="b" speed="1"/>'
        '<link id="l" bandwidth="1000" latency="0"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone>',
    )
    for config, seconds in (({}, 1.016), ({"tisim/envelope": 500}, 1.5)):
        config = {"network/model": "raw", **config}
        result = tisim.replay(trace, platform=path, config=config)
        assert result.simulated_time == pytest.approx(seconds, rel=1e-9)


PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
# Each line of the tables: option names, kind and unit, default, meaning.
LINES = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| `")
]
ROWS = {name: cells for cells in LINES for name in re.findall("`([^`]+)`", cells[0])}


def documented_default(parameter: Parameter) -> str:
    """Return the default as on the page, with those of models that differ."""
    if parameter.kind is FACTORS:
        return "by model"
    others: dict[str, list[str]] = {}
    for model, value in parameter.by_model.items():
        others.setdefault(value, []).append(model)
    models = "; ".join(f"{', '.join(names)}: {value}" for value, names in others.items())
    default = f"`{parameter.default}`" if parameter.default else ""
    return f"{default} ({models})" if models else default


def test_every_option_is_on_the_page_and_accepted() -> None:
    for name, parameter in PARAMETERS.items():
        shown = "smpi/<operation>" if name.removeprefix("smpi/") in OPERATIONS else name
        if shown in ROWS:
            _, value, default, meaning = ROWS[shown]
            unit = parameter.unit or parameter.kind.unit
            assert value == parameter.kind.name + (f", {unit}" if unit else ""), name
            assert default == documented_default(parameter), name
            assert meaning.startswith("none") is not parameter.used, name
        else:
            assert not parameter.used, name
            assert f"`{name}`" in PAGE
        for value in parameter.choices or (parameter.default or "anything",):
            assert Config({name: value}).warnings == (), name
            assert Config.from_items([f"--cfg={name}:{value}"]).warnings == (), name


def test_the_page_has_no_other_options() -> None:
    assert ROWS.keys() - {"smpi/<operation>"} <= PARAMETERS.keys()
