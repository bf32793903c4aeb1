# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guides: their commands on a cluster, and the site that they make."""

from __future__ import annotations

import json
import typing as t

from .clusters import LAB_SETTINGS, lab_of_this_clone, lab_variables, own_lab
from .places import COLLECTIONS
from .tools import install, run_pytest

if t.TYPE_CHECKING:
    import nox


def run_guides(session: nox.Session) -> None:
    """Follow the guides on a cluster of one control plane and two workers. Arguments of the session are pytest's."""
    install(session, "ansible", "kubernetes", "jsonpatch", "pytest", "PyYAML")
    name = lab_of_this_clone("docs")
    lab = lab_variables(LAB=name, CONTROL_PLANES="1", WORKERS="2")
    session.env["DOCS_LAB"] = name
    with own_lab(session, lab, "--extra-vars=lab_node_status_seconds=2"):
        prepare_device_plugin(session, name, lab["K8S"])
        run_pytest(session, "tests/docs")


def prepare_device_plugin(session: nox.Session, name: str, kubernetes: str) -> None:
    """What the image of the device plugin is built from on a machine without a registry."""
    extra = {"lab_name": name, "lab_kubernetes": kubernetes, "lab_sample_enabled": False}
    session.run(
        *("ansible-playbook", "lab/device_plugins.yml", f"--extra-vars={json.dumps(extra)}"),
        env={**LAB_SETTINGS, "PYTHONPATH": str(COLLECTIONS)},
    )
