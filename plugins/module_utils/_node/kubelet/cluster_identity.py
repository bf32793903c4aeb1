# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads which cluster a node belongs to, as its kubelet sees it, and since when."""

from __future__ import annotations

import contextlib
import glob
import os
import typing as t

from ..._engine.files import open_to_read
from ..._engine.kubeconfig import read_cluster
from ..._plan.kubernetes import flags
from ..._plan.kubernetes.clusters import ClusterIdentity, fingerprints

KUBECONFIG = "/etc/kubernetes/kubelet.conf"
# The kubelet's own defaults.
_MACHINE_IDS = "/etc/machine-id,/var/lib/dbus/machine-id"
_CERT_DIR = "/var/lib/kubelet/pki"


def kubeconfig_of(arguments: t.Sequence[str]) -> str:
    """The kubeconfig of a kubelet with this command line."""
    return flags.last(arguments, "kubeconfig") or KUBECONFIG


def read_identity(arguments: t.Sequence[str], *, root: str = "/") -> ClusterIdentity:
    """The cluster of a kubelet with this command line. root: what the kubelet sees as the root of its files."""
    cluster = read_cluster(kubeconfig_of(arguments), root)
    return ClusterIdentity(
        ca_sha256=fingerprints(cluster.authority.decode("ascii", "replace")),
        server=cluster.server,
        machine_id=_machine_id(flags.last(arguments, "machine-id-file") or _MACHINE_IDS, root),
    )


def _machine_id(paths: str, root: str) -> str:
    """The content of the first file that can be read, be it empty: so does the kubelet."""
    texts = (_read(root, path) for path in paths.split(","))
    return next((text.strip() for text in texts if text is not None), "")


def _read(root: str, path: str) -> str | None:
    try:
        with open_to_read(os.path.join(root, path.lstrip("/"))) as stream:
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return None


def joined_at(arguments: t.Sequence[str], root: str = "/") -> float:
    """When the node of a kubelet with this command line was joined, in seconds since 1970; 0.0 when that is not known.

    A rotation adds a client certificate and keeps the older ones, so the oldest one is from that time. Who removes old ones does not write the
    kubelet's kubeconfig again, which kubeadm join does: the earlier of the two counts.
    """
    directory = flags.last(arguments, "cert-dir") or _CERT_DIR
    pattern = os.path.join(root, directory.lstrip("/"), "kubelet-client-[0-9]*.pem")
    with contextlib.suppress(OSError, ValueError):  # ValueError: without any certificate
        oldest = min(os.stat(path).st_mtime for path in glob.glob(pattern))
        return min(oldest, os.stat(os.path.join(root, kubeconfig_of(arguments).lstrip("/"))).st_mtime)
    return 0.0
