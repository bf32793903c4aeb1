# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's parameters, and what it passes to the runner."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.modules import kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets

Start = t.Callable[..., t.Any]


@pytest.fixture(name="calls")
def fixture_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[t.Any, t.Any, bool]]:
    calls: list[tuple[t.Any, t.Any, bool]] = []
    monkeypatch.setattr(runner, "run_steps", lambda module, steps, *, rehearse: calls.append((module, steps, rehearse)))
    return calls


def test_the_defaults(start: Start, calls: list[t.Any]) -> None:
    start(kubelet.main)
    ((module, steps, rehearse),) = calls
    assert module.params == kubelets.parameters()
    assert rehearse is True
    assert module.supports_check_mode
    assert steps.report(None, None) == {
        "name": "kubelet",
        "node": None,
        "cluster": {"ca_sha256": "", "server": "", "machine_id": ""},
        "control_plane": [],
        "problem": None,
        "sandbox_image": None,
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


def test_state_previous_is_accepted(start: Start, calls: list[t.Any]) -> None:
    start(kubelet.main, state="previous")
    assert calls[0][0].params["state"] == "previous"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"feature_gate": {}}, "feature_gate"),
        ({"register_with_taints": [{"key": "a"}]}, "effect"),
        ({"register_with_taints": [{"key": "a", "effect": "Nope"}]}, "PreferNoSchedule"),
        ({"state": "gone"}, "must be one of: present, absent, previous"),
    ],
)
def test_bad_parameters_are_refused(
    start: Start, calls: list[t.Any], capsys: pytest.CaptureFixture[str], parameters: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(SystemExit):
        start(kubelet.main, **parameters)
    assert message in json.loads(capsys.readouterr().out)["msg"]
    assert calls == []
