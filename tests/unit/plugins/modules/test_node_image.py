# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that loads an image."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_image


def test_a_host_without_a_kubelet_is_named_and_all_keys_are_there(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(NodeModule, "run", lambda self, arguments: (127, "", "there is no program systemctl"))
    with pytest.raises(SystemExit):
        start(node_image.main, name="localhost/plugin:1")
    result = json.loads(capsys.readouterr().out)
    assert result["failed"]
    assert "there is no program systemctl" in result["msg"]
    assert {result[key] for key in ("node", "runtime", "present")} == {None}
    assert (result["name"], result["rehearsal"]["verdict"]) == ("localhost/plugin:1", "skipped")
