# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that verifies a new kubeadm-config: its parameters, and what it passes on."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.modules import kubeadm_config_check

CHANGE = {"component": "etcd", "field": "args", "key": "v"}
NEEDED: dict[str, t.Any] = {"before": "a", "after": "b", "settings": {"etcd": {}}, "changes": [CHANGE]}


class _Check:
    """Stands in for the check."""

    def __init__(self, params: dict[str, t.Any], **_options: t.Any) -> None:
        self._params = params

    def read_all(self) -> dict[str, t.Any]:
        if self._params["before"] == "refused":
            raise Refusal("it would change as well")
        return {"node": "cp1", "given": self._params}


@pytest.mark.parametrize("before", ["a", "refused"])
def test_parameters_and_result(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    monkeypatch.setattr(kubeadm_config_check, "Check", _Check)
    with pytest.raises(SystemExit):
        start(kubeadm_config_check.main, **{**NEEDED, "before": before})
    found = json.loads(capsys.readouterr().out)
    if before == "refused":
        assert (found["failed"], found["msg"]) == (True, "it would change as well")
    else:
        assert (found["changed"], found["given"]) == (False, NEEDED)


def test_a_change_has_to_be_named_in_full(start: t.Callable[..., t.Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        start(kubeadm_config_check.main, **{**NEEDED, "changes": [{"component": "etcd"}]})
    assert "missing required arguments: field, key" in json.loads(capsys.readouterr().out)["msg"]
