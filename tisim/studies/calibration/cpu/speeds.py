"""Writes measured speeds into a platform file."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from tisim.studies.calibration.cpu.rates import TOLERATED_SPREAD, Rate
from tisim.studies.calibration.platform_file import PlatformFile


def complete(
    platform: str | PathLike[str],
    output: str | PathLike[str],
    rate: Rate,
    hosts: Mapping[str, Rate],
) -> list[str]:
    """Write a platform file with the measured speeds of its hosts.

    Parameters
    ----------
    platform, output
        The file to complete and the one to write.
    rate
        The speed of every host that is not among `hosts`.
    hosts
        Speeds of single hosts. The hosts of a ``<cluster>`` share one speed, the mean of theirs.

    Returns
    -------
    list of str
        Remarks: hosts that are not in the platform, and clusters whose hosts differ.

    Raises
    ------
    InputError
        If the platform cannot be read or the output cannot be written.
    """
    file = PlatformFile.read(platform)
    file.set_all_speeds(rate.per_second)
    remarks, clusters = [], dict[str, list[Rate]]()
    for name, own in hosts.items():
        if file.set_speed(name, own.per_second):
            continue
        cluster = file.cluster_of(name)
        if cluster is None:
            remarks.append(f"{name} was measured and is no host of the platform")
        else:
            clusters.setdefault(cluster.get("id", ""), []).append(own)
    for cluster_id, rates in clusters.items():
        speeds = [own.per_second for own in rates]
        file.set_cluster_speed(cluster_id, sum(speeds) / len(speeds))
        if max(speeds) > (1 + TOLERATED_SPREAD) * min(speeds):
            remarks.append(
                f"the hosts of cluster {cluster_id} differ ({min(speeds):.4g} to "
                f"{max(speeds):.4g} flop/s) and share one speed, the mean; declare them as <host>s "
                "to tell them apart"
            )
    file.write(output)
    return remarks
