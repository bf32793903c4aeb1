# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The journal of a planned change of a static pod."""

from __future__ import annotations

import dataclasses

from .._engine.journal import STATIC_POD, Address, FileEntry, Instance, Journal, Places, StaticPodWatch
from .._plan.static_pod import plan as static_pod
from .api_clients import ApiClients, advertised
from .file_versions import dump_version
from .journals import TransactionSettings, file_entry, new_journal, record_entry
from .records import Images
from .static_pods import API_SERVER, StaticPod, instance_of


def static_pod_journal(
    pod: StaticPod, plan: static_pod.StaticPodPlan, settings: TransactionSettings, clients: ApiClients, places: Places
) -> Journal:
    """The journal of a planned change of a static pod."""
    before, after = instance_of(plan.before), instance_of(plan.after)
    address = _address(after)
    files: list[FileEntry] = [
        *(file_entry(change) for change in plan.files),
        {
            "path": pod.path,
            "switch": True,
            "before": dump_version(pod.version),
            "after": dump_version(dataclasses.replace(pod.version, content=plan.after.text.encode("utf-8"))),
        },
        *record_entry(pod.name, before=pod.record, after=plan.record, images=Images(pod.written_image, plan.image)),
    ]
    watch: StaticPodWatch = {
        "kind": STATIC_POD,
        **pod.logs,
        "places": places,
        "before": before,
        "after": after,
        "feature_gates": {
            key: value for key, value in plan.after.values()["feature_gates"].items() if isinstance(value, bool)
        },
        "metrics": {**address, "kubeconfig": clients.admin} if address else None,
        "hidden": plan.after.hidden,
    }
    journal = new_journal(pod.name, files, watch, settings)
    journal["min_ready_seconds"] = max(settings.min_ready_seconds, plan.after.seconds_until_killed())
    if pod.name == API_SERVER:
        for instance, manifest in ((before, plan.before), (after, plan.after)):
            instance["server"] = _address(instance) or advertised(manifest)
        watch["credentials"], watch["mirror"] = clients.credentials(), clients.mirror(pod.log_prefix)
        journal["notes"] = clients.missing()
    return journal


def _address(instance: Instance) -> Address | None:
    probe = next((probe for probe in instance["probes"] if probe["kind"] == "http"), None)
    return probe and {"scheme": probe["scheme"], "host": probe["host"], "port": probe["port"]}
