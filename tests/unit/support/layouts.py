# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as the tools leave them that people set clusters up with: one file of data for each."""

from __future__ import annotations

import dataclasses
import functools
import posixpath
import typing as t

import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_state import State
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.data import data_text

MANIFESTS = "/etc/kubernetes/manifests"
# Every manifest that there is, and every kubelet.
WHOLE = ("kind", "kubespray", "rpm")
# Of these the unit, and the manifests that differ from kubeadm's own.
PARTS = ("cluster-api", "kubemarine", "kubeone-flatcar", "minikube")


@dataclasses.dataclass(frozen=True)
class NodeFiles:
    """The files of one kubelet.

    unit: its file and its drop-ins, in systemd's order. environment: its environment files. variable: the one that our drop-in sets.
    command: what it starts without us. derived: whether only our generator has the unit take it. main, main_text: its configuration.
    config_dir: its directory of fragments, where it has one without us.
    """

    unit: t.Mapping[str, str]
    environment: t.Mapping[str, str | None]
    variable: str
    command: str
    derived: bool = False
    main: str = kubelets.MAIN
    main_text: str = kubelets.MAIN_TEXT
    config_dir: str = ""

    def state(self, **given: t.Any) -> State:
        """What such a node has."""
        fields: dict[str, t.Any] = {
            "unit": tuple(TextFile.of(path, text) for path, text in self.unit.items()),
            "environment": {
                path: None if text is None else TextFile.of(path, text).version
                for path, text in self.environment.items()
            },
            "main": TextFile.of(self.main, self.main_text),
            "running": tuple(self.command.split()),
            **given,
        }
        return dataclasses.replace(kubelets.state(), **fields)


@dataclasses.dataclass(frozen=True)
class NodeLayout:
    """One node. files: the text of each by its path. kubelet: what belongs to it."""

    files: t.Mapping[str, str]
    kubelet: NodeFiles

    @property
    def manifests(self) -> dict[str, str]:
        """The text of each manifest by the name of its static pod."""
        paths = [path for path in self.files if posixpath.dirname(path) == MANIFESTS]
        return {posixpath.splitext(posixpath.basename(path))[0]: self.files[path] for path in sorted(paths)}


@functools.cache
def load(name: str) -> NodeLayout:
    """The layout of one tool."""
    data = yaml.safe_load(data_text(f"layout_{name}.yaml"))
    files: dict[str, str] = data["files"]
    main = data.get("config", kubelets.MAIN)
    kubelet = NodeFiles(
        unit={path: files[path] for path in data["unit"]},
        environment={path: files.get(path) for path in data["environment"]},
        variable=data["variable"],
        command=data["command"],
        derived=data.get("derived", False),
        main=main,
        main_text=files[main],
        config_dir=data.get("config_dir", ""),
    )
    return NodeLayout(files, kubelet)
