# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/reliability.md about real clusters, made of what the tests measured.

    python -m ansible_collections.nodecraft.kubeadm.tests.faults.lab.tables DIRECTORY...

writes them, with the directories of FAULTS_RECORD.
"""

from __future__ import annotations

import json
import statistics
import sys
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.reliability import PAGE, with_table

OWN = "collection"
WAYS = {
    OWN: "this collection",
    "lineinfile": "`lineinfile`, `backup: true`",
    "copy": "`copy`, `backup: true`",
    "kubeadm": "`kubeadm init phase control-plane apiserver`",
}
# Those in which nothing is wrong with the change itself, so that taking it back would be a mistake.
FALSE_RESTORES = ("F09", "F36", "F37")

Json = dict[str, t.Any]


def read(directories: t.Iterable[Path]) -> list[Json]:
    """The records of the runs, in the order of the faults; the good changes first."""
    found = [
        json.loads(path.read_text(encoding="utf-8")) for directory in directories for path in directory.glob("*.json")
    ]
    return sorted(found, key=lambda entry: (entry["fault"] != "good", entry["fault"], entry["title"]))


def table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[t.Any]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def seconds(value: float | None) -> str:
    """A time; a dash where there is none."""
    return "-" if value is None else f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def outage(entry: Json) -> str:
    """The longest time for which the API server was not ready, and whether it still was not at the end."""
    longest = seconds(max(entry["outages"], default=None))
    return f"more than {longest}" if entry["runs_then"] == "down" else longest


def summary(entries: t.Sequence[Json]) -> str:
    """The figures of all faults together."""
    bad = [entry for entry in entries if entry["fault"] != "good"]
    outages = [max(entry["outages"]) for entry in entries if entry["outages"] and max(entry["outages"]) > 0]
    restores = [entry["restore_seconds"] for entry in entries if entry["restore_seconds"] is not None]
    good = [entry for entry in entries if entry["false_restore"] is not None]
    named = [entry for entry in good if entry["fault"] in FALSE_RESTORES]
    return table(
        ("What", "Figure"),
        [
            ("faults tried", len(bad)),
            ("survived", sum(entry["passed"] for entry in bad)),
            ("median outage where the component was restarted", seconds(_median(outages))),
            ("longest", seconds(max(outages, default=None))),
            ("median time from a bad write until the former state was healthy", seconds(_median(restores))),
            ("longest", seconds(max(restores, default=None))),
            (
                f"good changes rolled back by mistake, of {len(good)}",
                sum(bool(entry["false_restore"]) for entry in good),
            ),
            (
                f"of these under {', '.join(FALSE_RESTORES)}, of {len(named)}",
                sum(bool(e["false_restore"]) for e in named),
            ),
        ],
    )


def _median(values: t.Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def faults(entries: t.Sequence[Json]) -> str:
    """Each fault and its end."""
    return table(
        ("Fault", "What was done", "Outcome", "Runs then", "Longest outage", "Healthy again after the write", "Test"),
        [
            (
                entry["fault"],
                entry["title"],
                entry["outcome"] or "-",
                entry["runs_then"] or "-",
                outage(entry),
                seconds(entry["restore_seconds"]),
                "passed" if entry["passed"] else "**failed**",
            )
            for entry in entries
        ],
    )


def clients(entries: t.Sequence[Json]) -> str:
    """What those saw who used the API through the load balancer meanwhile."""
    return table(
        ("Fault", "What was done", "Requests", "Repeated on a new connection", "Lost"),
        [
            (entry["fault"], entry["title"], entry["requests"], entry["repeated"], entry["lost"])
            for entry in entries
            if entry["requests"]
        ],
    )


def compared(entries: t.Sequence[Json]) -> str:
    """The same faults by the manual ways, and by the collection."""
    manual = [entry for entry in entries if entry["way"] != OWN]
    tried = {entry["fault"] for entry in manual}
    own = [entry for entry in entries if entry["way"] == OWN and entry["fault"] in tried and not entry["requests"]]
    rows = sorted(
        [*manual, *own],
        key=lambda entry: (entry["fault"] != "good", entry["fault"], list(WAYS).index(entry["way"]), entry["title"]),
    )
    return table(
        ("Fault", "What was done", "Way", "The run", "Runs then", "Longest outage"),
        [
            (entry["fault"], entry["title"], WAYS[entry["way"]], entry["outcome"], entry["runs_then"], outage(entry))
            for entry in rows
        ],
    )


def device_plugin(entries: t.Sequence[Json]) -> str:
    """The faults of a device plugin."""
    return table(
        ("Fault", "What was done", "Outcome", "Right list after", "Test"),
        [
            (
                entry["fault"],
                entry["title"],
                entry["outcome"] or "-",
                seconds(entry["list_seconds"]),
                "passed" if entry["passed"] else "**failed**",
            )
            for entry in entries
        ],
    )


def text(entries: t.Sequence[Json]) -> str:
    """All tables, with what stands between them."""
    of_plugin = [entry for entry in entries if entry["fault"].startswith("D")]
    own = [entry for entry in entries if entry["way"] == OWN and entry not in of_plugin]
    parts = [
        summary(own),
        "### Fault by fault",
        faults(own),
        "### What clients saw",
        clients(own),
        "### The same manually",
        compared(entries),
        *(["### A device plugin", device_plugin(of_plugin)] if of_plugin else []),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Do it."""
    page = PAGE.read_text(encoding="utf-8")
    tables = text(read([Path(directory) for directory in sys.argv[1:]]))
    PAGE.write_text(with_table(page, "lab", f"\n{tables}\n\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
