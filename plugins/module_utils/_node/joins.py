# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""When a node was joined to its cluster, by what kubeadm join and the first start of the kubelet write."""

from __future__ import annotations

import contextlib
import glob
import os
import typing as t

from .._plan.kubernetes import flags
from .cluster_identity import KUBECONFIG

# The kubelet's own default.
_CERT_DIR = "/var/lib/kubelet/pki"


def joined_at(arguments: t.Sequence[str], root: str = "/") -> float:
    """When the node of a kubelet with this command line was joined, in seconds since 1970; 0.0 when that is not known.

    A rotation adds a client certificate and keeps the older ones, so the oldest one is from that time. Who removes old ones does not write the
    kubelet's kubeconfig again, which kubeadm join does: the earlier of the two counts.
    """
    directory = flags.last(arguments, "cert-dir") or _CERT_DIR
    kubeconfig = flags.last(arguments, "kubeconfig") or KUBECONFIG
    pattern = os.path.join(root, directory.lstrip("/"), "kubelet-client-[0-9]*.pem")
    with contextlib.suppress(OSError, ValueError):  # ValueError: without any certificate
        oldest = min(os.stat(path).st_mtime for path in glob.glob(pattern))
        return min(oldest, os.stat(os.path.join(root, kubeconfig.lstrip("/"))).st_mtime)
    return 0.0
