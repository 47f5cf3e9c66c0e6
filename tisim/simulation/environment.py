"""The public environment: SimPy processes, MPI ranks and traces on a simulated platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from tisim.errors import InputError
from tisim.kernel.core_environment import CoreEnvironment
from tisim.kernel.custom import CustomActions
from tisim.kernel.driver import Driver
from tisim.kernel.mpi import MpiRank, World
from tisim.simulation.jobs import start_replay
from tisim.simulation.settings import Settings

if TYPE_CHECKING:
    import simpy

    from tisim._core import Stop
    from tisim.actions.registry import Registry
    from tisim.config import ConfigLike
    from tisim.kernel.driver import Progress
    from tisim.platform import Platform
    from tisim.platform.deployment import Deployment
    from tisim.simulation.jobs import TraceLike


class Environment(CoreEnvironment):
    """A `simpy.Environment` with hosts and a network.

    Ordinary SimPy processes and resources run in it unchanged. The events of the core (ends of
    computations, transfers and MPI calls) and those of SimPy happen on one clock. At the same
    instant, those of the core precede those of SimPy; the network is shared after all of them.

    Parameters
    ----------
    platform
        A `tisim.Platform`.
    config
        A `tisim.Config` or a mapping of configuration keys to values; takes precedence over the
        platform's.
    progress
        Called periodically with the progress of the simulation.
    registry
        User-defined actions and algorithms; by default the default registry.

    Examples
    --------
    >>> env = tisim.kernel.Environment(tisim.Platform.load("platforms/graphene.xml"))
    >>> def job(env):
    ...     yield env.execute("graphene-0.nancy.grid5000.fr", 3.68e9)
    ...     print(env.now)
    >>> process = env.process(job(env))
    >>> env.run()
    1.0
    """

    def __init__(
        self,
        platform: Platform,
        config: ConfigLike = None,
        *,
        progress: Progress | None = None,
        registry: Registry | None = None,
    ) -> None:
        super().__init__(Driver(Settings(platform, config, registry), progress))
        self.platform = platform
        self._actions = CustomActions(self)

    @classmethod
    def of_driver(cls, driver: Driver, platform: Platform, stop: Stop) -> Self:
        """Create an environment in which a running simulation continues.

        Parameters
        ----------
        driver
            The simulation.
        platform
            The platform that it was created with.
        stop
            Reason why the simulation stopped. The environment's first step handles it, as if the
            simulation had run in the environment from the start: running the core in between would
            solve the network once more, and change the last bit of later times.
        """
        env = cls.__new__(cls)
        CoreEnvironment.__init__(env, driver, stop)
        env.platform = platform
        env._actions = CustomActions(env)
        return env

    def start_action(self) -> None:
        """Start the custom action requested by the core."""
        self._actions.start()

    def _rank_labels(self) -> dict[int, str]:
        return super()._rank_labels() | self._actions.rank_labels()

    # MPI ranks and traces

    def mpi(self, hosts: Sequence[str]) -> World:
        """Create a world of MPI ranks driven by SimPy processes, one rank per host name.

        Parameters
        ----------
        hosts
            Names of hosts; a name may occur several times.

        Examples
        --------
        >>> env = tisim.kernel.Environment(tisim.Platform.load("platforms/backbone.xml"))
        >>> world = env.mpi(["c-0.me", "c-1.me"])
        >>> def sender():
        ...     yield world[0].send(1, 1e6)
        >>> def receiver():
        ...     yield world[1].recv(0, 1e6)
        ...     print(f"received after {env.now:.6f} s")
        >>> processes = env.process(sender()), env.process(receiver())
        >>> env.run()
        received after 0.015491 s
        """
        if isinstance(hosts, str):
            raise InputError(f"an MPI world needs a list of host names, such as [{hosts!r}]")
        if not hosts:
            raise InputError("an MPI world needs at least one host")
        job = self._driver.add_job(None, [self._host(host) for host in hosts])
        first = self._core.first_rank(job)
        return World(MpiRank(self, first + i, i, host) for i, host in enumerate(hosts))

    def replay(
        self, trace: TraceLike, deployment: Deployment | Sequence[str] | None = None
    ) -> simpy.Event:
        """Start a trace concurrently; returns an event whose value is the `tisim.Result`.

        Parameters
        ----------
        trace
            A `tisim.Trace`, or an argument of `tisim.Trace.open`.
        deployment
            A `tisim.Deployment`, or a list of host names, one per rank; by default cyclic over the
            hosts of the platform.
        """
        return start_replay(self, trace, deployment)
