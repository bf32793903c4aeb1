# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's parameters, and what it hands to the runner."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.modules import kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets

Start = t.Callable[..., t.Any]


@pytest.fixture(name="handed")
def fixture_handed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[t.Any, t.Any, bool]]:
    given: list[tuple[t.Any, t.Any, bool]] = []
    monkeypatch.setattr(runner, "run_steps", lambda module, steps, *, rehearse: given.append((module, steps, rehearse)))
    return given


def test_the_defaults(start: Start, handed: list[t.Any]) -> None:
    start(kubelet.main)
    ((module, steps, rehearse),) = handed
    assert module.params == kubelets.parameters()
    assert rehearse is True
    assert module.supports_check_mode
    assert steps.report(None, None) == {
        "name": "kubelet",
        "node": None,
        "cluster": {"ca_sha256": "", "server": "", "machine_id": ""},
        "control_plane": [],
        "problem": None,
        "operations": [],
        "left_alone": {},
        "diff": [],
        "files": [],
        "limits": None,
        "reverts": None,
        "transaction": None,
        "unverified": [],
        "previous_transaction": None,
        "open_transaction": None,
        "busy": False,
    }


def test_state_previous_is_accepted(start: Start, handed: list[t.Any]) -> None:
    start(kubelet.main, state="previous")
    assert handed[0][0].params["state"] == "previous"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"feature_gate": {}}, "feature_gate"),
        ({"register_with_taints": [{"key": "a"}]}, "effect"),
        ({"register_with_taints": [{"key": "a", "effect": "Nope"}]}, "PreferNoSchedule"),
        ({"state": "gone"}, "must be one of: present, absent, previous"),
    ],
)
def test_bad_parameters_are_refused(
    start: Start, handed: list[t.Any], capsys: pytest.CaptureFixture[str], given: dict[str, t.Any], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        start(kubelet.main, **given)
    assert complaint in json.loads(capsys.readouterr().out)["msg"]
    assert handed == []
