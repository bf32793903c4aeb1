# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/reliability.md about real clusters, made of what the tests measured.

python3 tables.py FOLDER            prints them
python3 tables.py FOLDER --write    puts them into the page, between its two marks
"""

from __future__ import annotations

import argparse
import json
import statistics
import typing as t
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs/reliability.md"
BEGIN, END = "<!-- lab tables: begin -->", "<!-- lab tables: end -->"
OURS = "collection"
WAYS = {
    OURS: "this collection",
    "lineinfile": "`lineinfile`, `backup: true`",
    "copy": "`copy`, `backup: true`",
    "kubeadm": "`kubeadm init phase control-plane apiserver`",
}
# Those in which nothing is wrong with the change itself, so that taking it back would be a mistake.
FALSE_RESTORES = ("F09", "F36", "F37")

Json = dict[str, t.Any]


def read(folder: Path) -> list[Json]:
    """The records of a run, in the order of the faults; the good changes first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
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
    return f"more than {longest}" if entry["ended"] == "down" else longest


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
            ("median outage where the component was started anew", seconds(_median(outages))),
            ("longest", seconds(max(outages, default=None))),
            ("median time from a bad write until the former state was healthy", seconds(_median(restores))),
            ("longest", seconds(max(restores, default=None))),
            (
                f"good changes taken back by mistake, of {len(good)}",
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
                entry["ended"] or "-",
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
    """The same faults by the ways by hand, and by the collection."""
    by_hand = [entry for entry in entries if entry["way"] != OURS]
    tried = {entry["fault"] for entry in by_hand}
    ours = [entry for entry in entries if entry["way"] == OURS and entry["fault"] in tried and not entry["requests"]]
    rows = sorted(
        [*by_hand, *ours],
        key=lambda entry: (entry["fault"] != "good", entry["fault"], list(WAYS).index(entry["way"]), entry["title"]),
    )
    return table(
        ("Fault", "What was done", "Way", "The run", "Runs then", "Longest outage"),
        [
            (entry["fault"], entry["title"], WAYS[entry["way"]], entry["outcome"], entry["ended"], outage(entry))
            for entry in rows
        ],
    )


def text(entries: t.Sequence[Json]) -> str:
    """All tables, with what stands between them."""
    ours = [entry for entry in entries if entry["way"] == OURS]
    parts = [
        summary(ours),
        "### Fault by fault",
        faults(ours),
        "### What clients saw",
        clients(ours),
        "### The same by hand",
        compared(entries),
    ]
    return "\n\n".join(parts)


def put_into(page: str, tables: str) -> str:
    """The page with other tables. Raises ValueError when it lacks a mark."""
    head, dummy, rest = page.partition(BEGIN)
    dummy, mark, tail = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}"


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    tables = text(read(wanted.folder))
    if wanted.write:
        PAGE.write_text(put_into(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    else:
        print(tables)


if __name__ == "__main__":
    main()
