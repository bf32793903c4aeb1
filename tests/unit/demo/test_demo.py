# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo refuses before it begins."""

from __future__ import annotations

import argparse
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo import demo
from ansible_collections.nodecraft.kubeadm.lab.labs import Ours
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab


@pytest.mark.parametrize("workers", [1, 3])
def test_a_lab_on_which_its_pods_would_not_do_as_claimed_is_refused(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object) -> t.NoReturn:
        pytest.fail("The lab was made.")

    monkeypatch.setattr(Lab, "start_anew", start)
    asked = argparse.Namespace(
        standing=False, output=tmp_path, leave_out=[], second_runs=False, min_ready_seconds=1, ssh=False
    )
    with pytest.raises(SystemExit, match=rf"^invalid WORKERS {workers}: must be 2"):
        demo.show(asked, Ours(Lab("x", "1.37", 1, workers), "demo"))
