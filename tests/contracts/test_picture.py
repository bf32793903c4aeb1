# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of the architecture is made from the import contract, so that it cannot show anything else."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.tests.contracts.imports import LAYERS, PLACES
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

Graph = t.Mapping[str, t.Collection[str]]


def test_the_page_has_the_picture_of_the_contract() -> None:
    assert picture() in (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), picture()


def test_an_arrow_that_others_lead_to_is_not_drawn() -> None:
    assert arrows({"a": ("b", "c"), "b": ("c", "d"), "c": (), "d": ()}) == ["a --> b", "b --> c & d"]


def picture() -> str:
    """The places of the contract and the layers of decisions, as a flowchart of Mermaid."""
    outside = [f"    {arrow}" for arrow in arrows(places())]
    inside = [f"        {arrow}" for arrow in arrows(LAYERS)]
    return "\n".join(["flowchart TD", *outside, "    subgraph _plan", *inside, "    end"])


def places() -> dict[str, set[str]]:
    """Each place with those that it may import, the layers of decisions taken as one."""
    return {
        short: {shortened(place) for place in rule.places} - {short}
        for name, rule in PLACES.items()
        if (short := shortened(name)) != "_plan"
    }


def shortened(name: str) -> str:
    """The last part of a place's name; those of decisions are one."""
    return next(part for part in name.split(".") if part not in ("plugins", "module_utils"))


def arrows(graph: Graph) -> list[str]:
    """Who may import whom, a line for each who imports, without the arrows that follow from others."""
    return [f"{name} --> {' & '.join(known)}" for name, direct in graph.items() if (known := nearest(graph, direct))]


def nearest(graph: Graph, direct: t.Collection[str]) -> list[str]:
    """Those that no other of them leads to."""
    return sorted(
        known for known in direct if not any(known in reached(graph, other) for other in direct if other != known)
    )


def reached(graph: Graph, name: str) -> set[str]:
    """All that a place leads to."""
    direct = set(graph.get(name, ()))
    return direct.union(*(reached(graph, known) for known in direct))
