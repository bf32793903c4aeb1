# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observe on a node what a transaction observes, before a change and after it, without a change between: each pair has to find the same.

    python3 observe_pairs.py kube-apiserver reading 250

reading: what is only read; canary: the canary. It uses the engine and the journal that the component's last change left on the node, and prints a line of
JSON for each pair: what was observed before (the kind, the name, and the problem, empty where it works), what counts as lost, and what was not verified.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import typing as t

STATE = "/var/lib/nodecraft-kubeadm"
CANARY = "canary"
FLAPPING = "aggregated"  # the kind, and how a name in it begins
# The time of a change.
PAUSE_SECONDS = 1.0

Json = dict[str, t.Any]


def read_journal(component: str) -> Json:
    """The last one that observed something."""
    directory = f"{STATE}/{component}/history"
    for name in sorted(os.listdir(directory), reverse=True):
        with open(os.path.join(directory, name), encoding="utf-8") as stream:
            journal: Json = json.load(stream)
        if journal["watch"].get("observations"):
            return journal
    raise SystemExit(f"no change of {component} observed anything")


def observe_pair(journal: Json, number: int) -> Json:
    """Observe as an engine does before a change and behind it. journal: one of its own, in which nothing has happened."""
    engine, node, probes = (importlib.import_module(f"_engine.{name}") for name in ("observations", "node", "probes"))
    journal.update(id=f"pair-{os.getpid():x}x{number}", phase="prepared", unverified=[], times={}, leader=None)
    observations = engine.Observations(
        journal, node.NODE, probes.api_get, time.monotonic, time.sleep, lambda _step: None
    )
    began = time.monotonic()
    before = observations.read_before()
    journal.update(before={"observed": before}, phase="waiting")
    time.sleep(PAUSE_SECONDS)
    losses = observations.find_losses()
    observations.record_failures()
    return {
        "number": number,
        "seconds": round(time.monotonic() - began, 1),
        "before": before,
        "losses": losses,
        "unverified": journal["unverified"],
    }


def differences(pairs: t.Sequence[Json]) -> list[Json]:
    """Those that do not find what they all have to: the same as the first one, all of which works, before and after. An API of another server that comes and
    goes may be away, and be found so, and must not be lost."""
    first = _names(pairs[0])
    return [
        pair
        for pair in pairs
        if pair["losses"]
        or [text for text in pair["unverified"] if FLAPPING not in text]
        or _names(pair) != first
        or not all(problems for kind, problems in pair["before"].items() if kind != FLAPPING)
        or any(why for problems in pair["before"].values() for name, why in problems.items() if FLAPPING not in name)
    ]


def _names(pair: Json) -> list[str]:
    return sorted(name for problems in pair["before"].values() for name in problems if FLAPPING not in name)


def main() -> None:
    """Observe so many pairs."""
    component, chosen, count = sys.argv[1:]
    sys.path.insert(0, f"{STATE}/{component}/engine.pyz")
    text = json.dumps(read_journal(component))
    for number in range(int(count)):
        journal = json.loads(text)
        planned = journal["watch"]["observations"]
        journal["watch"]["observations"] = [each for each in planned if (each["kind"] == CANARY) is (chosen == CANARY)]
        sys.stdout.write(json.dumps(observe_pair(journal, number)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
