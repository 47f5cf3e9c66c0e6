"""Options in every spelling, their values, and how configurations are put together."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass

import pytest

from tisim.config import Config
from tisim.config.kinds import OverheadTable, StepTable
from tisim.config.table import PARAMETERS, canonical
from tisim.errors import InputError


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
        ("network/crosstraffic", "maybe", "it is yes or no"),
        ("network/model", "ns-3", "it is one of SMPI, LV08, CM02, raw, not 'ns-3'"),
        ("host/model", "ptask_L07", "it is one of default, compound"),
        ("network/weight-S", "-1", "not negative, not '-1'"),
        ("network/TCP-gamma", "big", "not 'big'"),
        ("smpi/async-small-thresh", "1.5", "whole number of bytes"),
        ("smpi/os", "0:1", "a row of the table is boundary:seconds:seconds a byte, not '0:1'"),
        ("smpi/os", "0:1:2;0:3:4", "boundary 0 comes twice"),
        ("smpi/or", "0:1x:2", "unknown unit 'x'"),
        ("smpi/bw-factor", "0:zero", "a factor is a number"),
        ("smpi/bw-factor", "", "a factor is a number"),
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
        with pytest.raises(InputError, match="an option is KEY=VALUE or KEY:VALUE"):
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
