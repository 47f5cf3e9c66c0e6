"""The reader of platform files: versions 3 to 4.1, and its messages about invalid files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Platform

Load = Callable[[str], Platform]
TWO_HOSTS = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
LINK = '<link id="l" bandwidth="1GBps" latency="1us"/>'
ROUTE = '<route src="a" dst="b"><link_ctn id="l"/></route>'


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load a platform from its text."""

    def load_text(text: str) -> Platform:
        path = tmp_path / "platform.xml"
        path.write_text(text)
        return Platform.load(path)

    return load_text


def zone(body: str, routing: str = "Full") -> str:
    """Return a platform of one zone, whose elements are in line 2."""
    return f'<platform version="4.1"><zone id="z" routing="{routing}">\n{body}\n</zone></platform>'


def refused(load: Load, text: str, says: str, line: int | None = 2) -> None:
    with pytest.raises(InputError, match=says) as caught:
        load(text)
    assert caught.value.line == line
    assert caught.value.file is not None


def test_a_small_platform(load: Load) -> None:
    platform = load(zone(TWO_HOSTS + LINK + ROUTE))
    assert [host.name for host in platform.hosts] == ["a", "b"]
    route = platform.route("a", "b")
    assert [link.name for link in route.links] == ["l"]
    assert route.latency == 1e-6
    assert platform.host("a").speed == 1e9


def test_version_3_words(load: Load) -> None:
    platform = load(
        '<platform version="3">'
        '<config id="General"><prop id="network/TCP_gamma" value="0"/></config>'
        '<AS id="root" routing="Full"><AS id="one" routing="Full"><host id="a" power="5E8"'
        ' availability="0.5" core="2"/></AS><cluster id="c" prefix="n" suffix="" radical="0-2"'
        ' power="1Gf" bw="1E8" lat="1E-6" sharing_policy="FULLDUPLEX"/>'
        '<link id="l" bandwidth="1E8" latency="1E-4" sharing_policy="FULLDUPLEX"/>'
        '<ASroute src="one" dst="c" gw_src="a" gw_dst="nc_router">'
        '<link_ctn id="l" direction="UP"/></ASroute></AS>'
        '<process host="a" function="0"/></platform>'
    )
    assert platform.config == {"network/TCP_gamma": "0"}
    assert platform.host("a").speed == 2.5e8
    assert platform.host("a").cores == 2
    names = [link.name for link in platform.route("n1", "a").links]
    assert names == ["c_link_1_UP", "l_DOWN"]


def test_config_items_keep_their_place(load: Load) -> None:
    platform = load(
        '<platform version="4.1">\n<config>\n<prop id="smpi/os" value="0:1:2"/>\n'
        '<prop id="smpi/os" value="later"/></config>'
        + zone(TWO_HOSTS)[len("<platform version='4.1'>") :]
    )
    assert platform.config == {"smpi/os": "0:1:2"}
    assert platform.config_items[0].line == 3


def test_properties(load: Load) -> None:
    platform = load(
        zone(
            '<prop id="where" value="here"/>'
            '<host id="a" speed="1Gf"><prop id="watt" value="95"/></host>'
            '<link id="l" bandwidth="1" sharing_policy="SPLITDUPLEX">'
            '<prop id="k" value="v"/></link>'
        )
    )
    assert dict(platform.host("a").properties) == {"watt": "95"}
    assert dict(platform.link("l_DOWN").properties) == {"k": "v"}
    assert platform.root.properties == {"where": "here"}


def test_an_included_file(load: Load, tmp_path: Path) -> None:
    (tmp_path / "hosts.xml").write_text(f"<?xml version='1.0'?>\n{TWO_HOSTS}\n{LINK}")
    platform = load(zone(f'<include file="hosts.xml"/>{ROUTE}'))
    assert len(platform.route("a", "b").links) == 1


def test_a_file_that_includes_itself(load: Load, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<include file="b.xml"/>')
    (tmp_path / "b.xml").write_text('<include file="a.xml"/>')
    refused(load, zone('<include file="a.xml"/>'), "includes itself", line=1)


def test_pstates_and_speeds(load: Load) -> None:
    platform = load(zone('<host id="a" speed="3Gf, 2Gf,1Gf" pstate="2"/>'))
    assert platform.host("a").speed == 1e9


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (TWO_HOSTS + '<host id="a" speed="1Gf"/>', "'a' is declared twice"),
        (TWO_HOSTS + LINK + LINK, "link 'l' is declared twice"),
        (TWO_HOSTS + '<router id="b"/>', "'b' is declared twice"),
        (TWO_HOSTS + ROUTE, "no link 'l'"),
        (TWO_HOSTS + LINK.replace("1GBps", "-1GBps") + ROUTE, "must be finite and not negative"),
        (TWO_HOSTS + LINK.replace("1GBps", "0"), "must be above zero"),
        (TWO_HOSTS + LINK.replace("1GBps", "1Gops"), "unknown unit 'Gops'"),
        (TWO_HOSTS + LINK.replace("1us", "1lightyear"), "unknown unit 'lightyear'"),
        ('<host id="a" speed="1Gb"/>', "unknown unit 'Gb' in the speed of host a"),
        ('<host id="a" speed="0"/>', "speed of host a must be above zero"),
        ('<host id="a"/>', "needs the attribute speed"),
        ('<host id="a" speed="1Gf" colour="red"/>', "has no attribute colour"),
        ('<host id="a" speed="1Gf" cores="2"/>', "did you mean core?"),
        ('<host id="a" speed="1Gf" core="0"/>', "must be a whole number above zero"),
        ('<host id="a" speed="1Gf" core="9999999999"/>', "must be a whole number above zero"),
        ('<host id="a" speed="1Gf" pstate="nan"/>', "pstate must be a number"),
        ('<hots id="a" speed="1Gf"/>', "unknown element <hots>; did you mean host?"),
        ('<link_ctn id="l"/>', "<link_ctn> is not allowed in <zone>"),
        (TWO_HOSTS + LINK + ROUTE + ROUTE, "has a route from a to b already"),
        (
            TWO_HOSTS + LINK + ROUTE.replace('dst="b"', 'dst="c"'),
            "'c' is not a host, router or zone",
        ),
        (TWO_HOSTS + LINK + '<route src="a" dst="b"/>', "has no <link_ctn>"),
        (TWO_HOSTS + LINK.replace("/>", ' sharing_policy="FAT"/>'), "must be one of SHARED"),
        (
            TWO_HOSTS + LINK.replace("/>", ' sharing_policy="SPLITDUPLEX"/>') + ROUTE,
            "give direction",
        ),
        (
            TWO_HOSTS + LINK + ROUTE.replace("/></", ' direction="UP"/></'),
            "'l' is not SPLITDUPLEX",
        ),
        ('<zone id="y" routing="Ful"/>', "unknown routing 'Ful'"),
        (TWO_HOSTS + '<zone id="y" routing="Full"/>', "already contains hosts or routers;"),
        ('<zone id="y" routing="Full"/>' + TWO_HOSTS, "already contains zones;"),
        ('<zone id="y" routing="Full"/><zone id="y" routing="Full"/>', "'y' is declared twice"),
        ("<config/>", "is not allowed in <zone>"),
        (LINK.replace("/>", ' sharing_policy="WIFI"/>'), "WIFI links are not supported"),
        ('<include file="nowhere.xml"/>', "no file 'nowhere.xml'"),
        ('<backbone id="b" bandwidth="1" latency="0"/>', "must be in a zone with routing=Cluster"),
        ('<peer id="p" speed="1" bw_in="1" bw_out="1"/>', "must be in a zone with routing=Vivaldi"),
    ],
)
def test_bad_elements(load: Load, body: str, says: str) -> None:
    refused(load, zone(body), says)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ('radical="5-3"', "the range 5-3 is empty"),
        ('radical="0-4,2"', "the number 2 occurs twice"),
        ('radical="0-999999999999"', "more than 268435456 numbers"),
        ('radical="a-b"', "'a-b' is neither a number nor a range"),
        ('radical="0-3" bb_lat="1us"', "also needs a bb_bw above zero"),
        ('radical="0-3" topology="TORUS" topo_parameters="2,x"', "sizes of its dimensions"),
        ('radical="0-2" topology="TORUS" topo_parameters="2,2"', "room for 4 hosts.*numbers 3"),
        ('radical="0-3" topology="FAT_TREE" topo_parameters="2;4;1;1"', "parameters of a fat tree"),
        ('radical="0-3" topology="DRAGONFLY" topo_parameters="2"', "parameters of a dragonfly"),
        (
            'radical="0-5" topology="DRAGONFLY" topo_parameters="3,1;1,1;2,1;1"',
            "3 groups needs at least 3 blades",
        ),
        ('radical="0-3" topology="RING"', "must be one of FLAT"),
    ],
)
def test_bad_clusters(load: Load, attributes: str, says: str) -> None:
    common = 'id="c" prefix="n" suffix="" speed="1Gf" bw="1MBps" lat="1us"'
    refused(load, zone(f"<cluster {common} {attributes}/>"), says)


def test_clusters_with_the_same_hosts(load: Load) -> None:
    common = 'suffix="" speed="1Gf" bw="1MBps" lat="1us"'
    refused(
        load,
        zone(
            f'<cluster id="c" prefix="n" radical="0-9" {common}/>'
            f'<cluster id="d" prefix="n" radical="9-12" {common}/>'
        ),
        "the host 'n9' is declared twice",
        line=1,
    )
    refused(
        load,
        zone(
            f'<cluster id="c" prefix="n" radical="10-19" {common}/>'
            f'<cluster id="d" prefix="n1" radical="5" {common}/>'
        ),
        "the host 'n15' is declared twice",
        line=1,
    )
    host = '<zone id="h" routing="Full"><host id="n3" speed="1Gf"/></zone>'
    refused(
        load,
        zone(f'{host}<cluster id="c" prefix="n" radical="0-9" {common}/>'),
        "the host 'n3' is declared twice",
        line=1,
    )


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("", "the file is empty", None),
        ("\x00\x01\x02\xff", "not XML and therefore not a platform", 1),
        (zone(TWO_HOSTS + LINK)[: -len("</platform>")], "not complete XML", 3),
        ('<platform version="4.1"></platform>', "neither a <zone> nor a <cluster>", 1),
        (zone(""), "the platform has no host", 1),
        ('<platform version="4"><actor host="a" function="0"/></platform>', "a deployment$", 1),
        ('<platform version="5"><zone id="z" routing="Full"/></platform>', "version 5 .* not", 1),
        ('<platform version="2"><zone id="z" routing="Full"/></platform>', "version 2 .* not", 1),
        ('<platform version="x"/>', "version must be a number", 1),
        ("<html><body/></html>", "outermost element is <html>", 1),
        (
            '<platform version="4"><zone id="y" routing="Full"/>\n<zone id="z" routing="Full"/>'
            "</platform>",
            "two outermost zones",
            2,
        ),
        (
            '<platform version="4"><zone id="y" routing="Full"/>\n<config/></platform>',
            "<config> must stand before the first zone",
            2,
        ),
    ],
)
def test_bad_files(load: Load, text: str, says: str, line: int | None) -> None:
    refused(load, text, says, line)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read this file: No such file"):
        Platform.load(tmp_path / "nowhere.xml")
    with pytest.raises(InputError, match="cannot read this file: Is a directory"):
        Platform.load(tmp_path)


def test_undeclared_entities_of_an_external_dtd_are_refused(load: Load) -> None:
    text = '<!DOCTYPE platform SYSTEM "simgrid.dtd">\n' + zone("&undeclared;")
    refused(load, text, "not complete XML: Entity 'undeclared' not defined", line=3)


def test_elements_have_a_greatest_depth(load: Load) -> None:
    zone = '<zone id="z" routing="Full">'
    refused(load, f'<platform version="4.1">{zone * 256}', "nested deeper than 256", line=1)


def test_other_encodings_are_read(tmp_path: Path) -> None:
    text = zone(TWO_HOSTS.replace('"a"', '"\u00e9"'))
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        path = tmp_path / f"{encoding}.xml"
        path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
        assert Platform.load(path).hosts[0].name == "\u00e9"
    path.write_bytes(f'<?xml version="1.0" encoding="klingon"?>{text}'.encode())
    with pytest.raises(InputError, match="its encoding is not supported"):
        Platform.load(path)


def test_entities_are_refused(load: Load, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for entity in (
        '<!ENTITY a "aaaaaaaaaa"> <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
        f'<!ENTITY b SYSTEM "{secret.as_uri()}">',
        '<!ENTITY % b SYSTEM "http://localhost/x.dtd"> %b;',
    ):
        text = f"<!DOCTYPE platform [\n{entity}\n]>" + zone('<host id="&b;" speed="1Gf"/>')
        refused(load, text, "declares an XML entity; entities are not expanded;", line=2)
    text = zone('<host id="&undeclared;" speed="1Gf"/>')
    refused(load, text, "not complete XML: Entity 'undeclared' not defined")


def test_a_document_type_is_not_fetched(load: Load) -> None:
    address = '<!DOCTYPE platform SYSTEM "http://localhost:1/simgrid.dtd">'
    assert len(load(address + zone(TWO_HOSTS)).hosts) == 2


def test_what_was_removed_is_a_warning(load: Load) -> None:
    platform = load(zone('<storage_type id="s" size="1"/><host id="a" speed="1Gf"><mount/></host>'))
    assert len(platform.warnings) == 2
    assert "<storage_type> is ignored" in platform.warnings[0]
    assert ":2:" in platform.warnings[0]


def test_lines_beyond_65535(load: Load) -> None:
    with pytest.raises(InputError, match="unknown element") as caught:
        load(zone("\n" * 70000 + "<hots/>"))
    # libxml2 stores lines in 16 bits; beyond, it takes the line of the text that follows.
    assert caught.value.line in (70002, 70003)


def test_a_file_of_the_oldest_format_is_refused(load: Load) -> None:
    old = '<platform_description version="1"/>'
    refused(load, old, "the file's outermost element is <platform_description>", line=1)
