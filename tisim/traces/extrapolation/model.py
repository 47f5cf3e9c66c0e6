"""Evaluation of the merged program at the target: guards, peers and numbers, fitted exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tisim.errors import InputError
from tisim.traces.extrapolation.families import Slope
from tisim.traces.extrapolation.features import find_distributed_points
from tisim.traces.extrapolation.findings import Findings, FittedVolume
from tisim.traces.extrapolation.grids import PeerForm, Place
from tisim.traces.extrapolation.guards import Evidence, Scene
from tisim.traces.extrapolation.nodes import (
    Loop,
    Mask,
    MergedCall,
    Node,
    StagedForm,
    Stages,
    described,
)
from tisim.traces.extrapolation.numbers import NumberFitter, Observation, few
from tisim.traces.extrapolation.shapes import Numbers
from tisim.traces.extrapolation.target import TargetCall, TargetLoop, TargetNode
from tisim.traces.extrapolation.volumes import FEWEST_SIZES, fit_volumes

# Minimum number of sizes that must contain a call.
_FEWEST_WITH_CALL = 2


class _StageVolume(NamedTuple):
    """The volume of a call in a stage, and its name in messages."""

    name: str
    value: int


@dataclass
class Model:
    """Fits the merged program and evaluates it at the target."""

    #: The numbers of ranks of the traces.
    places: Sequence[Place]
    #: The requested number of ranks.
    target: Place
    #: Families preferred if several fit.
    prefer: Sequence[str] = ()
    #: Scaling of volumes: ``strong``, ``weak`` or ``auto``.
    scaling: str = "auto"
    #: Functions a t that explain numbers of the program.
    slopes: frozenset[Slope] = frozenset()
    #: Iterations of loops, by path, that override those of the traces.
    iterations: Mapping[str, int] = field(default_factory=dict)
    findings: Findings = field(init=False)
    numbers: NumberFitter = field(init=False)

    def __post_init__(self) -> None:
        self.findings = Findings(self.target.ranks, self.prefer)
        self.numbers = NumberFitter(self.target, self.findings, self.slopes)
        self._evidence = Evidence([Scene(place) for place in self.places], [Scene(self.target)])
        self._sizes = [place.ranks for place in self.places]

    def program(self, nodes: Sequence[Node]) -> list[TargetNode]:
        """Return the whole program at the target."""
        self.numbers.distributed_points = find_distributed_points(nodes, self.places)
        everyone = [np.ones(place.ranks, dtype=np.bool_) for place in self.places]
        return self._program(nodes, everyone, np.ones(self.target.ranks, dtype=np.bool_), "")

    def _program(
        self, nodes: Sequence[Node], domain: list[Mask], target_domain: Mask, path: str
    ) -> list[TargetNode]:
        made: list[TargetNode] = []
        for number, node in enumerate(nodes, 1):
            at = f"{path}{number}"
            if isinstance(node, Stages):
                made += self._stages(node, domain, target_domain, at)
                continue
            present = self._present(node, domain, target_domain, at)
            if isinstance(node, Loop):
                times = self._times(node, at)
                body = self._program(node.body, node.present, present, f"{at}.")
                made.append(TargetLoop(node, present, times, body))
            else:
                name = described(node, at)
                forms = {
                    hole: [StagedForm("", fixed=form) for form in sorted(known)]
                    for hole, known in node.forms.items()
                }
                alone = [[None]] * len(self.places)
                targets = [Scene(self.target)]
                [numbers] = self._numbers(name, [node], alone, forms, [present], targets)
                volume = self._volume(name, [[node]] * len(self.places))
                made.append(TargetCall(node, present, numbers, volume, name))
        return made

    def _present(
        self, node: MergedCall | Loop, domain: list[Mask], target_domain: Mask, at: str
    ) -> Mask:
        site = described(node, at)
        sizes = [size for size, mask in zip(self._sizes, node.present, strict=True) if mask.any()]
        if len(sizes) < _FEWEST_WITH_CALL:
            raise InputError(
                f"{site}: only the trace of {sizes[0]:,} ranks has it; record more sizes that have "
                "it, all of one program"
            )
        mask = self._guarded(
            site, self._evidence, [Scene(self.target)], domain, node.present, target_domain
        )
        if mask is not None:
            if not mask.any():
                raise InputError(f"{site}: no rank would reach it at {len(mask)} ranks")
            return mask
        seen = "; ".join(
            f"{place.ranks} ranks: {_ranks(mask)}"
            for place, mask in zip(self.places, node.present, strict=True)
        )
        raise InputError(
            f"{site}: no rule explains which ranks make this call: {seen}; record sizes at which "
            "the program has the same structure, or more sizes"
        )

    def _guarded(
        self,
        site: str,
        evidence: Evidence,
        targets: Sequence[Scene],
        domain: Sequence[Mask],
        seen: Sequence[Mask],
        target_domain: Mask,
    ) -> Mask | None:
        """Return the ranks that reach a part in each scene; None if no guard explains them."""
        for level in evidence.guards(domain, seen):
            if not level:
                continue
            found: dict[bytes, tuple[str, Mask]] = {}
            for guard in level:
                mask = np.concatenate([guard.holds(scene) & target_domain for scene in targets])
                found.setdefault(np.packbits(mask).tobytes(), (guard.text, mask))
            text, mask = self.findings.choose(
                site, "the ranks that make it", [(t, t, m) for t, m in found.values()]
            )
            self.findings.note(site, "ranks", text, sum(bool(m.any()) for m in seen) - 1)
            return mask
        return None

    def _stages(
        self, stages: Stages, domain: list[Mask], target_domain: Mask, at: str
    ) -> list[TargetNode]:
        """Return the stages at the target, call by call."""
        count = self.numbers.fit_by_size(f"stages {at}", "their number", self._sizes, stages.counts)
        if not count:
            return []
        scenes = [
            (size, stage) for size, known in enumerate(stages.counts) for stage in range(known)
        ]
        targets = [Scene(self.target, stage) for stage in range(count)]
        evidence = Evidence([Scene(self.places[size], stage) for size, stage in scenes], targets)
        made: list[list[TargetNode]] = [[] for _ in range(count)]
        for number in range(len(stages.forms)):
            sites = [window[number] for window in stages.sites]
            name = f"{described(sites[0], f'{at}.{number + 1}')} in stages"
            seen = [sites[stage].present[size] for size, stage in scenes]
            stage_domain = [domain[size] for size, _ in scenes]
            masks = self._guarded(name, evidence, targets, stage_domain, seen, target_domain)
            if masks is None:
                raise InputError(
                    f"{name}: no rule explains which ranks make this call in which stage"
                )
            volumes = self._stage_volumes(name, stages, sites, count)
            by_stage = np.split(masks, count)
            known = [range(count) for count in stages.counts]
            forms = stages.forms[number]
            holes = self._numbers(name, sites, known, forms, by_stage, targets)
            for stage, (mask, numbers) in enumerate(zip(by_stage, holes, strict=True)):
                site = sites[min(stage, len(sites) - 1)]
                computed = volumes[stage]
                made[stage].append(TargetCall(site, mask, numbers, computed.value, computed.name))
        order = reversed(made) if stages.is_descending else made
        return [call for stage in order for call in stage]

    def _stage_volumes(
        self, name: str, stages: Stages, sites: Sequence[MergedCall], count: int
    ) -> list[_StageVolume]:
        """Return the volume of a call in each stage.

        Computation before the first stage is separate: it does not recur in each stage.
        """
        made, later = [], []
        for known in stages.counts:
            in_turn = list(reversed(sites[:known])) if stages.is_descending else sites[:known]
            made.append(in_turn[:1])
            later.append(in_turn[1:])
        first = f"{name}, the first"
        volumes = [_StageVolume(first, self._volume(first, made))]
        if count > 1:
            others = f"{name}, the others"
            volume = self._volume(others, later, FEWEST_SIZES - 1)
            volumes += [_StageVolume(others, volume)] * (count - 1)
        return volumes[::-1] if stages.is_descending else volumes

    def _numbers(
        self,
        name: str,
        sites: Sequence[MergedCall],
        stages: Sequence[Sequence[int | None]],
        forms: Mapping[int, Sequence[StagedForm]],
        present: Sequence[Mask],
        targets: Sequence[Scene],
    ) -> list[list[Numbers]]:
        """Return the numbers of a call in each stage at the target, by hole. `sites` has the call
        in each stage, and `stages` the stages of each trace; None stands for a call outside stages.
        """
        shape = sites[0].shape
        by_hole: list[list[Numbers]] = []
        for hole, mark in enumerate(shape.marks):
            if hole in forms:
                by_hole.append(
                    [
                        self._peers(
                            name, sites[0], hole, mask, [f.peer_form(stage) for f in forms[hole]]
                        )
                        for stage, mask in enumerate(present)
                    ]
                )
                continue
            seen = [
                Observation(
                    place,
                    [Scene(place, stage) for stage in known],
                    np.concatenate([site.present[size] for site in sites[: len(known)]]),
                    np.concatenate([site.numbers[size][hole] for site in sites[: len(known)]]),
                )
                for size, (place, known) in enumerate(zip(self.places, stages, strict=True))
                if any(site.present[size].any() for site in sites[: len(known)])
            ]
            values = self.numbers.fit_by_rank(
                name,
                f"number {hole + 1}",
                mark,
                seen,
                targets,
                np.concatenate(present),
                is_data=shape.is_data,
                is_name=hole in shape.in_name,
            )
            same = len(values) == 1
            by_hole.append([values] * len(present) if same else np.split(values, len(present)))
        return [[of_hole[stage] for of_hole in by_hole] for stage in range(len(present))]

    def _times(self, loop: Loop, at: str) -> int:
        site = described(loop, at)
        sizes, times = [], []
        for place, mask, of_ranks in zip(self.places, loop.present, loop.times, strict=True):
            chosen = of_ranks[mask]
            if (chosen != chosen[:1]).any():
                raise InputError(
                    f"{site}: the number of iterations differs between the {place.ranks} ranks: "
                    f"{few(chosen)}; no family explains it"
                )
            if len(chosen):
                sizes.append(place.ranks)
                times.append(int(chosen[0]))
        self.findings.loops[at] = times[-1]
        if at in self.iterations:
            self.findings.note(site, "iterations", f"{self.iterations[at]}, as requested", 1)
            return self.iterations[at]
        return self.numbers.fit_by_size(site, "iterations", sizes, times)

    def _peers(
        self, name: str, site: MergedCall, hole: int, present: Mask, forms: Sequence[PeerForm]
    ) -> Numbers:
        ranks = np.flatnonzero(present)
        found: dict[bytes, tuple[str, Numbers]] = {}
        for form in forms:
            values = form.values(self.target, ranks)
            if (values >= self.target.ranks).any():
                continue
            if (values < 0).any() and form.kind != "constant":
                continue
            found.setdefault(values.tobytes(), (form.shown(self.target), values))
        if not found:
            raise InputError(f"{name}: no formula gives ranks below {self.target.ranks}")
        text, values = self.findings.choose(
            name, "the rank", [(t, t, v) for t, v in found.values()]
        )
        self.findings.note(
            name, f"rank {hole + 1}", text, sum(bool(m.any()) for m in site.present) - 1
        )
        everyone = np.zeros(self.target.ranks, dtype=np.int64)
        everyone[ranks] = values
        return everyone

    def _volume(
        self, name: str, sites: Sequence[Sequence[MergedCall]], fewest: int = FEWEST_SIZES
    ) -> int:
        """Fit the mean over ranks and sites of each trace over the sizes."""
        means = []
        for size, place in enumerate(self.places):
            volumes = [site.volumes[size][site.present[size]] for site in sites[size]]
            if any(len(of_site) for of_site in volumes):
                means.append((place.ranks, float(np.concatenate(volumes).mean())))
        if not any(mean for _, mean in means):
            return 0
        if len(means) < fewest:
            raise InputError(
                f"{name}: its volumes are known at {len(means)} sizes, but {fewest} are needed"
            )
        fitted = fit_volumes(means, self.target.ranks, self.scaling)
        self.findings.volumes.append(FittedVolume(name, fitted))
        return round(fitted.value)


def _ranks(mask: Mask) -> str:
    return few(np.flatnonzero(mask)) if mask.any() else "none"
