# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/reliability.md that can be made from here.

    python -m ansible_collections.nodecraft.kubeadm.tests.faults.reliability [DIRECTORY]

writes the table of the mutations, and with the directory of FAULTS_RECORD also the counts of the file layer.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.mutations import MUTATIONS
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import MODULE_UTILS

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"


def table_in(page: str, name: str = "mutations") -> str:
    """What stands on the page between the marks of a table."""
    begin, end = _marks(name)
    return page.partition(begin)[2].partition(end)[0]


def with_table(page: str, name: str, table: str) -> str:
    """The page with another table. Raises AssertionError when it has no place for it."""
    begin, end = _marks(name)
    assert begin in page, f"the page has no {begin}"
    return page.replace(begin + table_in(page, name) + end, begin + table + end)


def mutation_table() -> str:
    """Every safeguard, where it is, and the tests of which one fails without it."""
    rows = [
        f"| {mutation.safeguard} | {', '.join(f'`{path}`' for path in mutation.files(MODULE_UTILS))} | `{mutation.test}` |"
        for mutation in MUTATIONS.values()
    ]
    return "\n".join(["| Safeguard | In | Tests that fail without it |", "| --- | --- | --- |", *rows, ""])


def count_table(directory: Path) -> str:
    """What was done to the processes of the file layer, how often, and how it ended."""
    counts: Counter[str] = Counter()
    for path in sorted(directory.glob("files-*.json")):
        counts.update(json.loads(path.read_text(encoding="utf-8")))
    kinds: dict[str, Counter[str]] = {}
    for key, count in counts.items():
        kind, dummy, end = key.partition(": ")
        kinds.setdefault(kind, Counter())[end] += count
    rows = [
        f"| {kind} | {sum(ends.values())} | {', '.join(f'{end} {count}' for end, count in sorted(ends.items()))} |"
        for kind, ends in sorted(kinds.items())
    ]
    total = sum(counts.values())
    return "\n".join(["| Fault | Times | How it ended |", "| --- | --- | --- |", *rows, f"| all | {total} | |", ""])


def main() -> None:
    """Write the page again."""
    page = with_table(PAGE.read_text(encoding="utf-8"), "mutations", mutation_table())
    if len(sys.argv) > 1:
        page = with_table(page, "counts", count_table(Path(sys.argv[1])))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
