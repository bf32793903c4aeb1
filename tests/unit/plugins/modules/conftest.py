# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules started with parameters, up to the point where their work begins."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common import warnings

Start = t.Callable[..., t.Any]


@pytest.fixture(name="start")
def fixture_start(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a module's main() with parameters, as root."""

    def start(main: t.Callable[[], t.Any], **parameters: t.Any) -> t.Any:
        text = json.dumps({"ANSIBLE_MODULE_ARGS": {"_ansible_remote_tmp": "/tmp", **parameters}})  # noqa: S108
        # A module is a process; here those of former tests, in the order of the machine, would leave theirs in the result.
        warnings._global_warnings.clear()
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", text.encode())
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)  # core 2.19 and newer
        return main()

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return start
