# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bench makes of what rollouts cost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.bench import rollout
from ansible_collections.nodecraft.kubeadm.bench.rollout import CASES, PING, Meter, Sample


def test_an_inventory_has_three_control_planes_and_workers() -> None:
    groups = rollout.groups_of(5, {"a": 1})
    assert {group: sorted(hosts) for group, hosts in groups.items()} == {
        "kube_control_plane": ["cp1", "cp2", "cp3"],
        "kube_node": ["w1", "w2"],
    }
    assert groups["kube_node"]["w1"] == {"a": 1}


@pytest.mark.parametrize(
    ("seconds", "slope"),
    [
        ({20: 10.0, 40: 20.0, 200: 100.0}, 1.0),
        ({20: 10.0, 40: 40.0}, 2.0),
        # What starts ansible-playbook is most of what few hosts cost.
        ({5: 9.0, 20: 10.0, 40: 20.0}, 1.0),
        ({5: 1.0, 20: 10.0}, None),
        ({20: 10.0, 40: -1.0}, None),
    ],
)
def test_growth_is_the_slope_of_larger_sizes(seconds: dict[int, float], slope: float | None) -> None:
    assert rollout.exponent(seconds) == (None if slope is None else pytest.approx(slope))


def sampled(cpu: float) -> list[Sample]:
    """Three plays, of which the one in the middle took so long."""
    return [Sample(seconds, 100.0, 12, 240, 300) for seconds in (cpu - 1, cpu, cpu + 1)]


def test_a_row_for_each_case_that_was_played() -> None:
    samples = {
        "2.18": {size: {PING: sampled(size / 2.0), "unchanged": sampled(size * 2.0)} for size in (20, 200)},
        "2.21": {size: {PING: sampled(size / 4.0), "unchanged": sampled(size * 1.0)} for size in (20, 200)},
    }
    _heading, _blank, heads, _rule, ping, unchanged = rollout.table(samples)
    assert heads == (
        "| | 2.18: 20 hosts | 2.18: 200 hosts | 2.21: 20 hosts | 2.21: 200 hosts | 2.18: exponent | 2.21: exponent |"
    )
    assert ping.startswith("| ping | 10.0 (12; 100 MiB) |")
    assert ping.endswith("|  |  |")
    assert unchanged.startswith(f"| {CASES['unchanged'].title} | 40.0 (4.0 x; 12; 100 MiB) |")
    assert unchanged.endswith("| 1.00 | 1.00 |")


def test_a_process_is_measured_with_its_children(tmp_path: Path) -> None:
    work = "import time; x = bytearray(50 * 2**20)\nwhile time.process_time() < 0.4: pass"
    program = f"import subprocess, sys; print('said'); sys.exit(subprocess.call([sys.executable, '-c', {work!r}]) or 3)"
    meter = Meter()
    assert meter.start([sys.executable, "-uc", program], tmp_path, dict(os.environ)) == (3, "said\n")
    assert meter.cpu >= 0.4
    assert meter.rss >= 50
