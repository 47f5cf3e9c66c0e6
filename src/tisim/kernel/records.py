"""From the parameters of models and platforms to the records that the core takes."""

from __future__ import annotations

from typing import Any

from tisim import _core


def core_model(network: Any, protocol: Any, overheads: list[Any]) -> Any:
    """The core's parameters.

    Parameters
    ----------
    network, protocol
        `tisim.models.NetworkModel`, `tisim.models.Protocol`.
    overheads
        The kinds of overheads that hosts have (`tisim.models.Overheads`).
    """
    model = _core.Model()
    model.latency_factor = _step_table(network.latency_factor)
    model.bandwidth_factor = _step_table(network.bandwidth_factor)
    model.weight_s = network.weight_s
    model.tcp_gamma = network.tcp_gamma
    model.crosstraffic = network.crosstraffic
    model.precision_timing = network.precision_timing
    model.precision_maxmin = network.precision_maxmin
    model.eager_threshold = protocol.eager_threshold
    model.detached_threshold = protocol.detached_threshold
    model.overheads = [
        _core.Overheads(_overheads(kind.send), _overheads(kind.isend), _overheads(kind.receive))
        for kind in overheads
    ]
    model.test_sleep = protocol.test_sleep
    model.iprobe_sleep = protocol.iprobe_sleep
    model.iprobe_cpu_usage = protocol.iprobe_cpu_usage
    model.grow_injected_times = protocol.grow_injected_times
    model.simulate_computation = protocol.simulate_computation
    model.init_sleep = protocol.init_sleep
    model.barrier_finalization = protocol.barrier_finalization
    model.synchronised = sum(1 << _core.operation_number(name) for name in protocol.synchronised)
    return model


def _step_table(table: Any) -> Any:
    return _core.StepTable(table.first, list(table.boundaries), list(table.values))


def _overheads(table: Any) -> Any:
    return _core.OverheadTable(list(table.boundaries), list(table.base), list(table.per_byte))


def core_platform(compiled: Any, host_overheads: Any) -> Any:
    """The core's arrays of a compiled platform (`tisim.platform.compiled.CompiledPlatform`).

    Parameters
    ----------
    compiled
        The platform.
    host_overheads
        Which kind of overheads each host has; empty: all the first. Shape (hosts,) or (0,).
    """
    return _core.PlatformData(
        host_speed=compiled.host_speed,
        host_cores=compiled.host_cores,
        host_overheads=host_overheads,
        link_bandwidth=compiled.link_bandwidth,
        link_latency=compiled.link_latency,
        link_fatpipe=compiled.link_fatpipe,
        segment_offset=compiled.segment_offset,
        segment_links=compiled.segment_links,
        segment_latency=compiled.segment_latency,
        host_group=compiled.host_group,
        host_up=compiled.host_up,
        host_down=compiled.host_down,
        host_loopback=compiled.host_loopback,
        pair_first=compiled.pair_src,
        pair_second=compiled.pair_dst,
        pair_segment=compiled.pair_segment,
        profiles=_profiles(compiled.events),
    )


def _profiles(events: Any) -> list[Any]:
    kinds = (
        _core.Quantity.SPEED,
        _core.Quantity.BANDWIDTH,
        _core.Quantity.LATENCY,
        _core.Quantity.STATE,
    )
    offsets = events.offset.tolist()
    return [
        _core.ResourceProfile(
            bool(is_link),
            index,
            kinds[what],
            period,
            events.time[first:end].tolist(),
            events.value[first:end].tolist(),
        )
        for is_link, index, what, period, first, end in zip(
            events.is_link.tolist(),
            events.index.tolist(),
            events.what.tolist(),
            events.period.tolist(),
            offsets,
            offsets[1:],
            strict=False,
        )
    ]
