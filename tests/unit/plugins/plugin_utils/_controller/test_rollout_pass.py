# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""By which name a run holds a Lease."""

from __future__ import annotations

import getpass
import os

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_pass import holder


def test_the_user_and_the_machine_and_what_no_other_run_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ops")
    whose, name = holder().split("/")
    assert whose == f"ops@{os.uname().nodename}"
    assert len(name) == 8
    assert holder() == f"{whose}/{name}"


@pytest.mark.parametrize("error", [KeyError, OSError])
def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def nameless() -> str:
        raise error("no name for this number")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert holder().startswith(f"{os.getuid()}@{os.uname().nodename}/")
