# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Arguments that a component takes and passes over, because it has a configuration file. Neither its start nor its health tells of them."""

from __future__ import annotations

import typing as t

from .etcd_change import CONFIG_FILE, setting
from .manifest import Manifest

# The scheduler's flags that only count without --config, and the fields of that file which count instead.
_OF_SCHEDULER = {
    "contention-profiling": "enableContentionProfiling",
    "kube-api-burst": "clientConnection.burst",
    "kube-api-content-type": "clientConnection.contentType",
    "kube-api-qps": "clientConnection.qps",
    "kubeconfig": "clientConnection.kubeconfig",
    "profiling": "enableProfiling",
}


def warnings(name: str, manifest: Manifest, asked: t.Iterable[str]) -> list[str]:
    """What to tell of arguments without an effect. name: of the static pod. asked: the arguments that a task sets."""
    if name == "kube-scheduler":
        file, fields = manifest.flag_value("config"), _OF_SCHEDULER
    elif name == "etcd":  # which reads such a file alone
        file, fields = setting(manifest, CONFIG_FILE), {key: key for key in asked if key != CONFIG_FILE}
    else:
        return []
    return [
        f"args {key}: {name} does not read it beside its configuration file {file}, so it has no effect. Set {fields[key]} in that file."
        for key in asked
        if file and key in fields and manifest.flag_value(key) is not None
    ]
