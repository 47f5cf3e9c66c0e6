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
    """A `simpy.Environment` with hosts and a network in it.

    Ordinary SimPy processes and resources run in it unchanged. The events of the core (ends of
    computations, transfers and MPI calls) and those of SimPy happen on one clock. At one instant
    those of the core come first, then those of SimPy; what all of them start then shares the
    network.

    Parameters
    ----------
    platform
        A `tisim.Platform`.
    config
        A `tisim.Config` or a mapping of configuration keys to values; wins over what the platform
        says.
    progress
        Called from time to time with the progress of the simulation.
    registry
        Actions and algorithms of the user's own; the default registry when not given.

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
        """An environment in which a simulation that runs already goes on.

        Parameters
        ----------
        driver
            The simulation.
        platform
            The platform that it was created with.
        stop
            Why the simulation stopped. The environment's first step answers it, as it would have
            done at once had the simulation run in it from the start: to run the core in between
            would solve the network once more, and change the last bit of later times.
        """
        env = cls.__new__(cls)
        CoreEnvironment.__init__(env, driver, stop)
        env.platform = platform
        env._actions = CustomActions(env)
        return env

    def start_action(self) -> None:
        """Start the custom action that the core asks for."""
        self._actions.start()

    def _doing(self) -> dict[int, str]:
        return super()._doing() | self._actions.doing()

    # MPI ranks and traces

    def mpi(self, hosts: Sequence[str]) -> World:
        """A world of MPI ranks that SimPy processes act as, one rank for each host named.

        Parameters
        ----------
        hosts
            Names of hosts; one may come several times.

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
            raise InputError(f"an MPI world is a list of host names, such as [{hosts!r}]")
        if not hosts:
            raise InputError("an MPI world needs the host of at least one rank")
        job = self._driver.add_job(None, [self._host(host) for host in hosts])
        first = self._core.first_rank(job)
        return World(MpiRank(self, first + i, i, host) for i, host in enumerate(hosts))

    def replay(
        self, trace: TraceLike, deployment: Deployment | Sequence[str] | None = None
    ) -> simpy.Event:
        """Start a trace beside whatever runs here; an event whose value is the `tisim.Result`.

        Parameters
        ----------
        trace
            A `tisim.Trace`, or whatever `tisim.Trace.open` takes.
        deployment
            A `tisim.Deployment`, or a list of host names, one a rank; cyclic over the hosts
            of the platform when not given.
        """
        return start_replay(self, trace, deployment)
