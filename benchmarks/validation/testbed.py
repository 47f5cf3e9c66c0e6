"""Network namespaces as nodes: each has one cable to a switch, shaped in both directions."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PREFIX = "tisim-v"
_NETWORK = "10.99.0"
# Burst of a token bucket and length of its queue, in bytes: the queue is long enough to lose no
# packets. A lost packet costs 0.2 s, which no bandwidth-sharing model predicts.
BURST = 4500
_QUEUE = 16 << 20
# Bytes of a connection in its node's queue, two packets: connections alternate, as with the fair
# queue that most systems have and this kernel may lack. Otherwise a message at the head, for a busy
# node, delays those behind it (docs/validation.md).
_TURN = 3000


_COMMANDS = (("ip", "iproute2"), ("tc", "iproute2"), ("unshare", "util-linux"))
# Launchers and compilers of MPI programs, with their packages.
_LIBRARIES = {
    "openmpi": (("mpirun.openmpi", "openmpi-bin"), ("mpicc.openmpi", "libopenmpi-dev")),
    "mpich": (("mpiexec.mpich", "mpich"), ("mpicc.mpich", "libmpich-dev")),
}
# Preloaded libraries that make idle ranks wait for their sockets.
_WAITING = {"openmpi": "block_when_idle", "mpich": "block_when_idle_ucx"}


def missing(library: str = "openmpi") -> str | None:
    """Return why a testbed for an MPI library is impossible here; None if it is possible."""
    if os.geteuid() != 0:
        return "namespaces need root"
    for command, package in (*_COMMANDS, *_LIBRARIES[library]):
        if shutil.which(command) is None:
            return f"{command} is not installed (Debian: {package})"
    probe = f"{_PREFIX}{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode != 0:
        return f"network namespaces cannot be made: {made.stderr.strip()}"
    shaped = subprocess.run(
        f"ip -n {probe} link set lo up && tc -n {probe} qdisc add dev lo root tbf rate 80mbit "
        f"burst {BURST} limit {_QUEUE}",
        shell=True,
        capture_output=True,
        text=True,
    )
    subprocess.run(["ip", "netns", "delete", probe], capture_output=True)
    return None if shaped.returncode == 0 else f"links cannot be shaped: {shaped.stderr.strip()}"


def congestion_controls() -> list[str]:
    """Return the congestion controls that a namespace may use."""
    return Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()


@dataclass(frozen=True)
class Layout:
    """Differences from equal nodes on one switch.

    Attributes
    ----------
    slow
        Fractions of the rate of the cables of some nodes, by number of the node, from 1.
    far
        Number of last nodes that are on a second switch.
    trunk
        Fraction of the rate of the cable between the switches.
    ranks
        Ranks per node.
    delay
        Seconds of delay of a frame on a node's cable, in addition to its transmission.
    """

    slow: Mapping[int, float] = field(default_factory=dict)
    far: int = 0
    trunk: float = 1.0
    ranks: int = 1
    delay: float = 0.0


@dataclass(frozen=True)
class Nodes:
    """Nodes on one switch or two.

    Attributes
    ----------
    name
        Prefix of the names of its namespaces.
    nodes
        Number of nodes.
    directory
        Directory for its files.
    layout
        How they are connected.
    library
        MPI library of the ranks: ``openmpi`` or ``mpich``.
    """

    name: str
    nodes: int
    directory: Path
    layout: Layout = Layout()
    library: str = "openmpi"

    @property
    def compiler(self) -> str:
        """The compiler of its MPI library."""
        return f"mpicc.{self.library}"

    def command(self, ranks: int, *, spread: bool = False) -> tuple[str, ...]:
        """Return the command that starts ranks, node after node; the program follows.

        With `spread` there is a rank on each node, and a second one on the first if nodes have
        several, which measures messages within a node.
        """
        nodes = range(1, (ranks if spread else -(-ranks // self.layout.ranks)) + 1)
        slots = dict.fromkeys(nodes, 1 if spread else self.layout.ranks)
        if spread and self.layout.ranks > 1:
            slots[1] = 2
            ranks += 1
        hosts = ",".join(f"{_NETWORK}.{node}:{slots[node]}" for node in nodes)
        master = f"{self.name}-1"
        on_master = (
            *("ip", "netns", "exec", master, "unshare", "--uts"),
            *(str(self.directory / "as-node"), master),
        )
        waiting = self.directory / f"{_WAITING[self.library]}.so"
        if self.library == "mpich":
            return (
                *(*on_master, "mpiexec.mpich", "-launcher", "ssh"),
                *("-launcher-exec", str(self.directory / "agent"), "-iface", "eth0"),
                *("-hosts", hosts, "-n", str(ranks)),
                *("-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0"),
                *("-genv", "LD_PRELOAD", str(waiting), str(self.directory / "first")),
            )
        options = {
            "plm_rsh_agent": str(self.directory / "agent"),
            "plm_rsh_no_tree_spawn": "1",
            # Also within a node: namespaces of one machine do not share memory.
            "btl": "tcp,self",
            "btl_tcp_if_include": f"{_NETWORK}.0/24",
            "oob_tcp_if_include": f"{_NETWORK}.0/24",
            "pml": "ob1,monitoring",
            # Windows by messages: Open MPI 4.1 has no default over TCP.
            "osc": "pt2pt",
            "mpi_yield_when_idle": "1",
        }
        return (
            *(*on_master, "mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none"),
            *(word for name, value in options.items() for word in ("--mca", name, value)),
            *("--host", hosts, "-np", str(ranks)),
            *("-x", f"LD_PRELOAD={waiting}"),
            *(("chrt", "-f", "10") if shutil.which("chrt") else ()),
        )


@contextlib.contextmanager
def shaped_nodes(
    nodes: int,
    rate: int,
    directory: Path,
    layout: Layout | None = None,
    library: str = "openmpi",
    congestion_control: str | None = None,
) -> Iterator[Nodes]:
    """Yield nodes whose links have this rate in bits/s; they are always removed afterwards.

    Their TCP has the machine's congestion control unless another one is given.

    Raises
    ------
    subprocess.CalledProcessError
        If they cannot be created.
    """
    _remove_left_over()
    made = Nodes(f"{_PREFIX}{os.getpid()}", nodes, directory, layout or Layout(), library)
    _write_scripts(made)
    try:
        _make(made, rate)
        for number in range(1, nodes + 1):
            _set_tcp(f"{made.name}-{number}", congestion_control)
        with _delayed(made):
            yield made
    finally:
        _remove(made.name)


def _write_scripts(made: Nodes) -> None:
    """Write the programs that start processes on a node."""
    waiting = _WAITING[made.library]
    source, library = Path(__file__).with_name(f"{waiting}.c"), made.directory / f"{waiting}.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    # Hydra's ranks cannot begin as real-time processes, since they spin in MPI_Init.
    _write_program(
        made.directory / "first", 'echo -20 2>/dev/null > /proc/self/autogroup\nexec "$@"\n'
    )
    _write_program(made.directory / "as-node", 'hostname "$1"\nshift\nexec "$@"\n')
    _write_program(
        made.directory / "agent",
        'while [ "${1#-}" != "$1" ]; do shift; done\n'
        f"node={made.name}-${{1##*.}}\nshift\n"
        f'exec ip netns exec "$node" unshare --uts {made.directory}/as-node "$node" '
        '/bin/sh -c "$*"\n',
    )


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


def _make(made: Nodes, rate: int) -> None:
    layout = made.layout
    switches = [f"{made.name}-switch", *[f"{made.name}-switch2"] * (layout.far > 0)]
    commands = []
    for switch in switches:
        commands += [
            f"ip netns add {switch}",
            f"ip -n {switch} link add br0 type bridge",
            f"ip -n {switch} link set br0 up",
        ]
    if layout.far:
        commands += _cable((switches[0], "trunk"), (switches[1], "trunk"), rate * layout.trunk)
        commands += [f"ip -n {switch} link set trunk master br0" for switch in switches]
    for number in range(1, made.nodes + 1):
        node, port = f"{made.name}-{number}", f"port{number}"
        switch = switches[-1] if number > made.nodes - layout.far else switches[0]
        plugged = port
        if layout.delay:  # the delay line forwards frames between these two devices
            plugged = f"line{number}"
            commands += [
                f"ip -n {switch} link add tail{number} type veth peer name {plugged}",
                *(f"ip -n {switch} link set {end} up" for end in (f"tail{number}", plugged)),
            ]
        commands += [
            f"ip netns add {node}",
            f"ip -n {node} link set lo up",
            *_cable((switch, port), (node, "eth0"), rate * layout.slow.get(number, 1.0)),
            f"ip -n {switch} link set {plugged} master br0",
            f"ip -n {node} addr add {_NETWORK}.{number}/24 dev eth0",
        ]
    for command in commands:
        subprocess.run(command.split(), check=True, capture_output=True, text=True)


@contextlib.contextmanager
def _delayed(made: Nodes) -> Iterator[None]:
    """Forward frames between cables and switch after the layout's delay, if any."""
    if not made.layout.delay:
        yield
        return
    program = made.directory / "delay_line"
    source = Path(__file__).with_name("delay_line.c")
    subprocess.run(["cc", "-O2", source, "-o", program], check=True)
    devices = [name for node in range(1, made.nodes + 1) for name in (f"port{node}", f"tail{node}")]
    command = [program, f"{made.layout.delay * 1e6:.0f}", *devices]
    switch = ["ip", "netns", "exec", f"{made.name}-switch"]
    with subprocess.Popen(
        [*switch, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as line:
        assert line.stdin is not None and line.stdout is not None
        if not line.stdout.readline():
            raise subprocess.CalledProcessError(line.wait(), command)
        try:
            yield
        finally:
            line.stdin.close()  # ends it


def _cable(one: tuple[str, str], other: tuple[str, str], rate: float) -> list[str]:
    """Return commands for a cable between devices of two namespaces, shaped in both directions."""
    shape = f"root tbf rate {rate:.0f}bit burst {BURST} limit {_QUEUE}"
    commands = [
        f"ip link add {one[1]} netns {one[0]} type veth peer name {other[1]} netns {other[0]}"
    ]
    for namespace, device in (one, other):
        commands += [
            f"ip -n {namespace} link set {device} up",
            # Offloading would enqueue bursts of 100 kB, delaying control messages.
            f"ip -n {namespace} link set dev {device} gso_max_segs 1",
            f"tc -n {namespace} qdisc add dev {device} {shape}",
        ]
    return commands


def _set_tcp(node: str, congestion_control: str | None) -> None:
    """Make connections keep their windows while idle, equal, and alternating."""
    options: dict[str, object] = {
        "tcp_slow_start_after_idle": 0,
        "tcp_no_metrics_save": 1,
        "tcp_limit_output_bytes": _TURN,
    }
    if congestion_control is not None:
        options["tcp_congestion_control"] = congestion_control
    for option, value in options.items():
        subprocess.run(
            [
                "ip",
                "netns",
                "exec",
                node,
                "sh",
                "-c",
                f"echo {value} > /proc/sys/net/ipv4/{option}",
            ],
            capture_output=True,
        )


def _namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    return [line.split()[0] for line in listed.stdout.splitlines() if line.startswith(_PREFIX)]


def _remove(name: str) -> None:
    for namespace in _namespaces():
        if namespace.startswith(f"{name}-"):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)


def _remove_left_over() -> None:
    """Remove namespaces of killed processes."""
    for namespace in _namespaces():
        owner = namespace[len(_PREFIX) :].partition("-")[0]
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)
