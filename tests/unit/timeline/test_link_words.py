"""Links of hosts are distinguished from those between switches."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE
from tisim.analysis.timeline.links import link_descriptions
from tisim.platform import new
from tisim.platform.zones.cluster import cable_descriptions
from tisim.simulation.settings import Settings
from tisim.traces.generate import Halo3D


def words_of(platform: tisim.Platform, hosts: int) -> dict[str, str]:
    settings = Settings(platform)
    words = link_descriptions(settings, range(hosts))
    return {settings.routes.link_name(link): text for link, text in words.items()}


def test_links_of_a_cluster() -> None:
    words = words_of(tisim.Platform.load(GRAPHENE), 6)
    host = "graphene-3.nancy.grid5000.fr"
    assert words["AS_sgraphene1_link_3_UP"] == f"{host}, up"
    assert words["AS_sgraphene1_link_3_DOWN"] == f"{host}, down"
    assert words["AS_sgraphene1_link_3_limiter"] == f"{host}, both ways"
    assert len(words) == 18


def test_links_between_switches_are_of_no_host() -> None:
    tree = new.fat_tree(16, radix=4, bandwidth="1GBps", latency="1us", speed="1Gf")
    words = words_of(tree, 16)
    assert sorted(words.values()) == sorted(
        f"node-{host}, {way}" for host in range(16) for way in ("up", "down")
    )
    # Every link of a torus also carries traffic between other hosts.
    torus = new.torus(27, bandwidth="1GBps", latency="1us", speed="1Gf")
    assert words_of(torus, 27) == {}


def cables_of(platform: tisim.Platform) -> dict[str, str]:
    words = cable_descriptions(platform.root, range(len(platform.links)))
    return {platform.links[link].name: text for link, text in words.items()}


def test_what_cables_join() -> None:
    numbers = {"bandwidth": "1GBps", "latency": "1us", "speed": "1Gf"}
    tree = cables_of(new.fat_tree(16, radix=4, **numbers))
    assert tree["link_from_3_30_3_UP"] == "node-3 to switch 1 of level 1"
    assert tree["link_from_3_30_3_DOWN"] == "switch 1 of level 1 to node-3"
    assert "switch 7 of level 1 to switch 7 of level 2" in tree.values()
    torus = cables_of(new.torus(27, **numbers))
    assert torus["node_link_from_0_to_1_UP"] == "node-0 to node-1"
    dragonfly = cables_of(new.dragonfly(72, **numbers))
    blue = next(name for name in dragonfly if name.startswith("blue_link_between_group_0_and_1"))
    assert dragonfly[blue] == "blade 1 of chassis 0 in group 0 to blade 0 of chassis 0 in group 1"
    graphene = cables_of(tisim.Platform.load(GRAPHENE))
    host = "graphene-3.nancy.grid5000.fr"
    assert graphene["AS_sgraphene1_link_3_UP"] == f"{host} to the switch of AS_sgraphene1"
    assert graphene["AS_sgraphene1_link_3_limiter"] == f"all that passes {host}"


def test_few_hosts_have_no_words() -> None:
    platform = tisim.Platform.load(GRAPHENE)
    assert words_of(platform, 3) == {}


def test_links_of_many_hosts_are_all_called_one_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = new.fat_tree(16, radix=4, bandwidth="1GBps", latency="1us", speed="1Gf")
    Halo3D(ranks=16, iterations=1).write(tmp_path / "halo.tit")
    result = tisim.replay(tmp_path / "halo.tit", platform=tree, event_log=True)
    assert result.require_event_log().link_words["link_from_3_30_3_UP"] == "node-3, up"
    monkeypatch.setattr("tisim.analysis.timeline.links.MAX_HOSTS", 4)
    monkeypatch.setattr("tisim.analysis.timeline.event_log.MAX_HOSTS", 4)
    result = tisim.replay(tmp_path / "halo.tit", platform=tree, event_log=True)
    words = result.require_event_log().link_words.values()
    assert words and all(" to " in text for text in words)


def test_limiters_are_told_apart_from_cables(tmp_path: Path) -> None:
    Halo3D(ranks=8, iterations=1).write(tmp_path / "halo.tit")
    result = tisim.replay(tmp_path / "halo.tit", platform=GRAPHENE, event_log=True)
    limiters = result.require_event_log().limiters
    assert limiters == {f"AS_sgraphene1_link_{host}_limiter" for host in range(8)}
    tree = new.fat_tree(16, radix=4, bandwidth="1GBps", latency="1us", speed="1Gf")
    result = tisim.replay(tmp_path / "halo.tit", platform=tree, event_log=True)
    assert not result.require_event_log().limiters
