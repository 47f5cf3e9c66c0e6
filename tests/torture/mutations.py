"""Valid inputs of each kind, and damage that passes their checksums."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.tit_reader import crc32c
from tests.unit.calibration.test_calibration_disk import IOR_TEXT
from tests.unit.calibration.test_calibration_readers import IMB, OSU_LATENCY, SKAMPI
from tests.unit.command_line import ROOT
from tests.unit.importers.test_damage import WHOLE
from tisim.commands.cli import main

_PROFILE = "0 1\n0.01 0.5\nPERIODICITY 0.5\n"
_STUDY = """\
trace = "ring.tit"
platform = "backbone.xml"
seed = 3
[vary]
bandwidth = ["x1", "x2"]
latency = { small = "x0.5", large = "5us" }
mapping = ["block", "random:2"]
compute_noise = [0.1]
[prices]
"host[*]" = 2.5
"""
_VALIDATION = """\
[[case]]
name = "ring"
trace = "ring.tit"
platform = "backbone.xml"
real = [0.03, 0.04, 0.05]
"""
_FAT_TREE = """\
<?xml version='1.0'?>
<platform version="4.1">
 <zone id="w" routing="Full">
  <cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us" core="2"
   topology="FAT_TREE" topo_parameters="2;4,2;1,2;1,1">
   <prop id="tisim/disk" value="read=1GBps,write=1GBps"/></cluster>
  <cluster id="d" prefix="m" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us"
   topology="DRAGONFLY" topo_parameters="2,1;2,1;2,1;1" loopback_bw="1GBps" loopback_lat="0"
   limiter_link="1GBps"/>
  <cluster id="e" prefix="t" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us"
   topology="TORUS" topo_parameters="2,2,2" sharing_policy="SPLITDUPLEX"/>
  <link id="l" bandwidth="1GBps" latency="1us"><prop id="tisim/burst" value="1MiB"/></link>
  <zoneRoute src="c" dst="d" gw_src="n0" gw_dst="m0"><link_ctn id="l"/></zoneRoute>
  <zoneRoute src="c" dst="e" gw_src="n0" gw_dst="t0"><link_ctn id="l"/></zoneRoute>
 </zone>
</platform>
"""


def write_inputs(directory: Path) -> None:
    """Fill a directory with valid inputs; tisim itself makes further ones from them."""
    for source in ("backbone.xml", "backbone.hosts", "backbone.deploy.xml"):
        (directory / source).write_bytes((ROOT / "platforms" / source).read_bytes())
    ring = ROOT / "traces" / "ring.4"
    texts = {
        "profile.txt": _PROFILE,
        "study.toml": _STUDY,
        "validation.toml": _VALIDATION,
        "fat.xml": _FAT_TREE,
        "skampi.txt": SKAMPI,
        "osu.txt": OSU_LATENCY,
        "imb.txt": IMB,
        "ior.txt": IOR_TEXT,
        "ring.txt": "".join(path.read_text() for path in sorted(ring.iterdir())),
    }
    for name, text in texts.items():
        (directory / name).write_text(text)
    (directory / "ring.txt.gz").write_bytes(gzip.compress((directory / "ring.txt").read_bytes()))
    with tarfile.open(directory / "ring.tar.xz", "w:xz") as tar:
        tar.add(ring, "ring")
    for name, (_, file, whole) in WHOLE.items():
        folder = directory / f"import-{name.replace(' ', '-')}"
        folder.mkdir()
        (folder / file).write_bytes(whole)
    platform = ["--platform", str(directory / "backbone.xml")]
    made = {
        name: str(directory / name) for name in ("ring.tit", "run.tir", "run.json", "sweep.csv")
    }
    files = str(directory / "io.tit")
    for words in (
        ["pack", str(ring), "-o", made["ring.tit"]],
        ["generate", "io", "--ranks", "3", "-o", files],
        ["replay", *platform, "--breakdown", "--json", made["run.json"], made["ring.tit"]],
        ["replay", *platform, "--timeline", made["run.tir"], made["ring.tit"]],
        ["sweep", str(directory / "study.toml"), "--workers", "1", "-o", made["sweep.csv"]],
        *(
            ["generate", "halo2d", "--ranks", n, "-o", str(directory / f"halo.{n}.tit")]
            for n in ("4", "9", "16")
        ),
    ):
        try:
            main(words)
        except SystemExit as ended:
            assert ended.code == 0, words


Mutation = Callable[[bytes, Random], bytes]

WORDS: list[bytes] = [
    *b"0 -1 1e400 nan inf -0 1e-320 99999999999999999999 0x10 1_0 x2 1GBps 5us true %s {}".split(),
    *b"2147483648 4294967296 9223372036854775807 -9223372036854775808 ../../x / .".split(),
    *(b"9" * 5000, b"/dev/zero", b"", b" ", b"\n", b"\0", b"\xff\xfe", "\u00e9\u2028".encode()),
    *(b'"', b"'", b"<", b"&x;", b"]", b"{", b"#"),
]
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_WORD = re.compile(rb"[\w.]+")


def mutate(name: str, content: bytes, random: Random) -> bytes:
    """Return a damaged copy of a file; its name determines the kind of damage."""
    if random.random() < 0.15:  # damage the raw bytes, including checksums
        return _bytes(content, random)
    for suffix, inside in _CONTAINERS.items():
        if name.endswith(suffix):
            return inside(name.removesuffix(suffix), content, random)
    if b"\0" in content[:4096]:
        return _bytes(content, random)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        content = random.choice((_number, _number, _word, _lines, _bytes, _deep))(content, random)
    return content


def _place(content: bytes, random: Random) -> int:
    return random.randrange(len(content) + 1)


def _bytes(content: bytes, random: Random) -> bytes:
    start = _place(content, random)
    end = min(len(content), start + random.choice((1, 1, 2, 8, 64, 4096)))
    new = random.choice(
        (b"", random.randbytes(end - start), content[start:end] * 2, random.choice(WORDS))
    )
    if random.random() < 0.1:
        return content[:start]
    return content[:start] + new + content[end:]


def _token(pattern: re.Pattern[bytes]) -> Mutation:
    def change(content: bytes, random: Random) -> bytes:
        found = list(pattern.finditer(content[: 1 << 16]))
        if not found:
            return _bytes(content, random)
        chosen = random.choice(found)
        other = random.choice(found).group() if random.random() < 0.3 else random.choice(WORDS)
        return content[: chosen.start()] + other + content[chosen.end() :]

    return change


_number, _word = _token(_NUMBER), _token(_WORD)


def _lines(content: bytes, random: Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines[at] *= random.choice((2, 3, 1000))
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines.insert(at, random.choice(WORDS) + b"\n")
    return b"".join(lines)


def _deep(content: bytes, random: Random) -> bytes:
    at = _place(content, random)
    many = random.choice((b"[", b'{"a":', b"<zone id='a' routing='Full'>", b"(", b"a.")) * 20_000
    return content[:at] + many + content[at:]


def _gzip(name: str, content: bytes, random: Random) -> bytes:
    return gzip.compress(mutate(name, gzip.decompress(content), random), 1)


def _xz(name: str, content: bytes, random: Random) -> bytes:
    return lzma.compress(mutate(name, lzma.decompress(content), random), preset=0)


def _tar(_name: str, content: bytes, random: Random) -> bytes:
    made = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(content)) as old,
        tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        members = [member for member in old.getmembers() if member.isfile()]
        chosen = random.randrange(len(members))
        for number, member in enumerate(members):
            file = old.extractfile(member)
            assert file is not None
            data = file.read()
            if number == chosen:
                match random.randrange(4):
                    case 0:
                        data = mutate(member.name, data, random)
                    case 1:
                        member.name = random.choice(
                            ("/x/r0.txt", "../r0.txt", "a" * 300, "", "/", ".")
                        )
                    case 2:
                        member.type = random.choice((tarfile.SYMTYPE, tarfile.DIRTYPE, b"S", b"Z"))
                        member.linkname = member.name
                    case _:
                        key = random.choice(("GNU.sparse.major", "size", "path", "GNU.sparse.map"))
                        member.pax_headers = {key: random.choice(("1", "-1", "x", "9" * 30))}
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return made.getvalue()


def _zip(_name: str, content: bytes, random: Random) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        chosen = random.choice(old.namelist())
        for member in old.namelist():
            data = old.read(member)
            if member == chosen:
                data = mutate(member, data, random)
            new.writestr(member, data)
    return made.getvalue()


def _json(_name: str, content: bytes, random: Random) -> bytes:
    """Change a value in the tree; the result is still JSON."""
    value = json.loads(content)
    node = value
    while isinstance(node, dict | list) and node:
        key = random.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if not isinstance(node[key], dict | list) or not node[key] or random.random() < 0.25:
            other = [None, True, -1, 0, 1e300, float("nan"), 10**400, "", "x", [], {}, [[]], 2**63]
            if random.random() < 0.3:
                del node[key]
            else:
                node[key] = random.choice(other)
            break
        node = node[key]
    return json.dumps(value).encode()


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def _tit(_name: str, content: bytes, random: Random) -> bytes:
    """Change bytes after the table of a packed trace and repair the table's checksums."""
    length, start = _varint(content, 16)
    table, data = bytearray(content[start : start + length]), bytearray(content[start + length :])
    for _ in range(random.choice((1, 1, 2, 4))):
        data[random.randrange(len(data))] = random.choice(
            (0, 1, 127, 128, 255, random.randrange(256))
        )
    at = offset = 0
    while at < len(table):
        name_length, at = _varint(table, at)
        _, at = _varint(table, at + name_length)
        flags = table[at]
        stored, at = _varint(table, at + 1)
        if flags & 6:
            _, at = _varint(table, at)
        table[at : at + 4] = crc32c(bytes(data[offset : offset + stored])).to_bytes(4, "little")
        at, offset = at + 4, offset + stored
    head = content[:12] + crc32c(bytes(table)).to_bytes(4, "little") + content[16:start]
    return head + bytes(table) + bytes(data)


_CONTAINERS: dict[str, Callable[[str, bytes, Random], bytes]] = {
    ".gz": _gzip,
    ".xz": _xz,
    ".tar": _tar,
    ".tir": _zip,
    ".json": _json,
    ".tit": _tit,
}
