"""tisim's environment behaves as SimPy's: the same programs give the same logs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
import simpy

import tisim
from tests.support import GRAPHENE
from tisim.kernel import Environment

PLATFORM = tisim.Platform.load(GRAPHENE)

Log = list[Any]
Process = Generator[Any, Any, Any]


def resources(env: simpy.Environment, log: Log) -> None:
    desk = simpy.Resource(env, capacity=2)

    def customer(number: int) -> Process:
        yield env.timeout(number / 2)
        with desk.request() as request:
            yield request
            log.append((env.now, "begins", number))
            yield env.timeout(1.25)
        log.append((env.now, "leaves", number))

    for number in range(6):
        env.process(customer(number))
    env.run()


def stores_and_containers(env: simpy.Environment, log: Log) -> None:
    store: simpy.Store = simpy.Store(env, capacity=2)
    tank = simpy.Container(env, capacity=10, init=3)

    def producer() -> Process:
        for item in range(5):
            yield store.put(item)
            yield tank.put(1.5)
            log.append((env.now, "put", item, tank.level))
            yield env.timeout(0.1)

    def consumer() -> Process:
        while True:
            item = yield store.get()
            yield tank.get(2)
            log.append((env.now, "got", item, tank.level))
            yield env.timeout(0.3)

    env.process(producer())
    env.process(consumer())
    env.run()


def interrupts(env: simpy.Environment, log: Log) -> None:
    def worker() -> Process:
        while True:
            try:
                yield env.timeout(2)
                log.append((env.now, "done"))
                return "finished"
            except simpy.Interrupt as interrupt:
                log.append((env.now, "interrupted", interrupt.cause))

    def boss(victim: simpy.Process) -> Process:
        for cause in ("coffee", "mail"):
            yield env.timeout(1)
            victim.interrupt(cause)
        log.append((env.now, (yield victim)))

    env.process(boss(env.process(worker())))
    env.run()


def conditions(env: simpy.Environment, log: Log) -> None:
    def waiter() -> Process:
        first, second = env.timeout(1, "a"), env.timeout(3, "b")
        found = yield first | second
        log.append((env.now, list(found.values())))
        found = yield first & second
        log.append((env.now, list(found.values())))
        found = yield env.all_of([env.timeout(0.5, i) for i in range(3)])
        log.append((env.now, list(found.values())))
        yield env.any_of([])
        log.append(env.now)

    env.process(waiter())
    env.run()


def failures(env: simpy.Environment, log: Log) -> None:
    def fails() -> Process:
        yield env.timeout(1)
        raise ValueError("broken")

    def catches() -> Process:
        try:
            yield env.process(fails())
        except ValueError as error:
            log.append((env.now, str(error)))
        event = env.event()
        env.process(breaks(event))
        try:
            yield event
        except KeyError as error:
            log.append((env.now, str(error)))

    def breaks(event: simpy.Event) -> Process:
        yield env.timeout(1)
        event.fail(KeyError("no such key"))

    env.process(catches())
    env.run()
    env.process(fails())
    with pytest.raises(ValueError, match="broken"):
        env.run()
    log.append(env.now)


def until_a_time(env: simpy.Environment, log: Log) -> None:
    def clock() -> Process:
        while True:
            log.append(env.now)
            yield env.timeout(1)

    env.process(clock())
    env.run(until=3)  # events at 3 do not happen
    log.append(("now", env.now, env.peek()))
    env.run(until=4.5)
    log.append(("now", env.now, env.peek()))
    with pytest.raises(ValueError, match="must be greater"):
        env.run(until=1)


def until_an_event(env: simpy.Environment, log: Log) -> None:
    def one() -> Process:
        yield env.timeout(2)
        return "value"

    process = env.process(one())
    process.callbacks.append(lambda event: log.append(("before", env.now)))
    log.append(env.run(until=process))
    log.append(env.run(until=process))  # already processed: returns at once
    nothing = env.event()
    with pytest.raises(RuntimeError, match="was not triggered"):
        env.run(until=nothing)
    assert env.run() is None


def steps(env: simpy.Environment, log: Log) -> None:
    def one() -> Process:
        yield env.timeout(1)
        yield env.timeout(0)

    env.process(one())
    with pytest.raises(simpy.core.EmptySchedule):
        while True:
            log.append((env.now, env.peek()))
            env.step()
    log.append((env.now, env.peek()))


def bad_yield(env: simpy.Environment, log: Log) -> None:
    def one() -> Process:
        yield 5

    env.process(one())
    with pytest.raises(RuntimeError, match="Invalid yield value") as error:
        env.run()
    log.append(str(error.value))


SCENARIOS = [
    resources,
    stores_and_containers,
    interrupts,
    conditions,
    failures,
    until_a_time,
    until_an_event,
    steps,
    bad_yield,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_as_in_simpy(scenario: Callable[[simpy.Environment, Log], None]) -> None:
    here: Log = []
    there: Log = []
    scenario(Environment(PLATFORM), here)
    scenario(simpy.Environment(), there)
    assert here == there
    assert here


# Scenarios that depend neither on the end of the run nor on all events.
BESIDE = [s for s in SCENARIOS if s not in (failures, steps, until_a_time)]


@pytest.mark.parametrize("scenario", BESIDE, ids=lambda s: s.__name__)
def test_as_in_simpy_beside_a_computation(
    scenario: Callable[[simpy.Environment, Log], None],
) -> None:
    """Activities of the core do not disturb SimPy processes; they only lengthen the run."""
    here: Log = []
    there: Log = []
    env = Environment(PLATFORM)

    def busy() -> Process:
        for _ in range(200):
            yield env.execute("graphene-0.nancy.grid5000.fr", 3.68e8)

    env.process(busy())
    scenario(env, here)
    scenario(simpy.Environment(), there)
    assert here == there


def test_it_is_a_simpy_environment() -> None:
    assert isinstance(Environment(PLATFORM), simpy.Environment)
