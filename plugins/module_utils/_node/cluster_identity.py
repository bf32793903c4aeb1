# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Reads which cluster a node belongs to, as its kubelet sees it."""

from __future__ import annotations

import os
import typing as t

from .._plan.kubernetes import flags
from .._plan.kubernetes.clusters import ClusterIdentity, endpoint, fingerprints

KUBECONFIG = "/etc/kubernetes/kubelet.conf"
# The kubelet's own default.
_MACHINE_IDS = "/etc/machine-id,/var/lib/dbus/machine-id"


def read_identity(arguments: t.Sequence[str], *, root: str = "/") -> ClusterIdentity:
    """The cluster of a kubelet with this command line. root: what the kubelet sees as the root of its files."""
    kubeconfig = flags.last(arguments, "kubeconfig") or KUBECONFIG
    found = endpoint(_read(root, kubeconfig) or "")
    # A relative path counts from the kubeconfig's own directory.
    path = os.path.join(os.path.dirname(kubeconfig), found.authority_file) if found.authority_file else ""
    return ClusterIdentity(
        ca_sha256=fingerprints(found.authority or (_read(root, path) or "" if path else "")),
        server=found.server,
        machine_id=_machine_id(flags.last(arguments, "machine-id-file") or _MACHINE_IDS, root),
    )


def _machine_id(paths: str, root: str) -> str:
    """The content of the first file that can be read, be it empty: so does the kubelet."""
    texts = (_read(root, path) for path in paths.split(","))
    return next((text.strip() for text in texts if text is not None), "")


def _read(root: str, path: str) -> str | None:
    try:
        with open(os.path.join(root, path.lstrip("/")), encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return None
