# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight of a change of etcd: what its member, its data and its cluster would lose."""

from __future__ import annotations

import dataclasses
import os
import socket
import typing as t
import urllib.parse

from ..._engine.journal import SIDES, Journal
from ..._engine.probes import run_probe
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.kubernetes import flags
from ..._plan.static_pod import etcd_change
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.manifest import Manifest
from ..static_pod import static_pods
from ..static_pod.component_files import ComponentFiles, PreflightContext, is_healthy, is_running, retry_until_ready
from ..static_pod.static_pods import API_SERVER, ETCD
from . import etcd_client, etcd_snapshot

# The flags of the directories without which a member cannot go on.
_DATA_FLAGS = ("data-dir", "wal-dir")
_SERVES_API_SERVER = "whether it answers this node's API server"
_FORCE = "force: true changes it anyway, after a snapshot of this member was saved on its node and verified."


def check(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """The warnings about a change of a member. Raises Refusal."""
    etcd_change.refuse_other_identity(plan.before, plan.after)
    etcd_change.refuse_shadowed_variables(plan.before, plan.after)
    etcd_change.refuse_small_requests(plan.before, plan.after)
    _refuse_no_clients(plan)
    node.unverified.extend(_unverified_api_server(pod))
    warnings = [*_refuse_moved_data(pod, plan, node), *_refuse_detached_data(pod, plan, node)]
    if not is_running(pod, node):
        return warnings  # it is stopped already, and responds to nothing
    cluster, failure = retry_until_ready(lambda: _read_cluster(plan.before), _is_without_risks, node)
    if cluster is None:
        return [*warnings, *_refuse_unlisted_members(pod, failure, node)]
    etcd_change.refuse_small_quota(plan.before, plan.after, cluster.size, os.uname().nodename)
    node.facts["leads"] = cluster.leads
    return [*warnings, *_refuse_risks(pod, cluster, node), *_warn_of_lone_member(pod, cluster)]


def _warn_of_lone_member(pod: static_pods.StaticPod, cluster: etcd_change.Cluster) -> list[str]:
    """Of the API server beside one of several members. With a single one, no API server answers, which is a warning of its own."""
    api_server = _find_manifest(API_SERVER, os.path.dirname(pod.path))
    if len(cluster.members) == 1 or api_server is None:
        return []
    servers, listening = (
        _resolve(ComponentFiles(manifest).flags(flag))
        for manifest, flag in ((api_server, "etcd-servers"), (pod.manifest, "listen-client-urls"))
    )
    warning = etcd_change.lone_member_warning(os.uname().nodename, servers, listening)
    return [warning] if warning else []


def unverified_cluster(pod: static_pods.StaticPod) -> list[str]:
    """What is unknown or unhealthy of the cluster of an unchanged member, each with the reason."""
    cluster, failure = _read_cluster(pod.manifest)
    problems = [failure] if cluster is None else etcd_change.assess_risks(cluster).found
    return [f"whether it takes writes and has its members: {each}" for each in problems]


def full_etcd_problem(directory: str) -> str:
    """Why the etcd of this node's API server takes no writes; empty where it does, or cannot be queried. directory: of the manifests."""
    manifest = _find_manifest(API_SERVER, directory)
    if manifest is None:
        return ""
    try:
        addresses = etcd_client.read_health_for_api_server(ComponentFiles(manifest), with_alarms=True)
    except KubeadmError:
        return ""
    return next((each.message for each in addresses if each.ok is False and "NOSPACE" in each.message), "")


_ClusterResult = tuple[t.Optional[etcd_change.Cluster], str]


def _read_cluster(manifest: Manifest) -> _ClusterResult:
    """The cluster of a manifest's member, or why it cannot be read."""
    try:
        return etcd_client.read_cluster(etcd_client.Access.from_files(ComponentFiles(manifest))), ""
    except KubeadmError as exc:
        return None, str(exc)


def _refuse_no_clients(plan: static_pod.StaticPodPlan) -> None:
    """At etcd's default address nothing could reach and verify a member."""
    if ComponentFiles(plan.before).flags("listen-client-urls") and not ComponentFiles(plan.after).flags(
        "listen-client-urls"
    ):
        raise Refusal(
            "args: without listen-client-urls etcd listens at http://localhost:2379 only, and no API server reaches it."
        )


def _is_without_risks(result: _ClusterResult) -> bool:
    return result[0] is not None and not etcd_change.assess_risks(result[0]).found


def _refuse_risks(pod: static_pods.StaticPod, cluster: etcd_change.Cluster, node: PreflightContext) -> list[str]:
    """Refuse a risk while there is something to lose, unless it is forced."""
    risks = etcd_change.assess_risks(cluster)
    warnings = [risks.warning] if risks.warning else []
    if not risks.found:
        return warnings
    if node.force:
        return [*warnings, *(f"forced: {risk}" for risk in risks.found)]
    if risks.counts_for_repair or is_healthy(pod, node):
        raise Refusal(f"refused before anything was written on {os.uname().nodename}: {' '.join(risks.found)} {_FORCE}")
    repaired = "This member is not healthy, so the change is tried anyway."
    return [*warnings, *(f"{risk} {repaired}" for risk in risks.found)]


def _refuse_unlisted_members(pod: static_pods.StaticPod, failure: str, node: PreflightContext) -> list[str]:
    problem = f"the members of the etcd cluster could not be listed on {os.uname().nodename} ({failure})"
    if is_healthy(pod, node):
        raise Refusal(
            f"refused before anything was written: {problem}, so it is not known whether a majority is left without this"
            " one. Check that the member answers there with its own certificates."
        )
    return [f"{problem}; this one is not healthy, so the change is tried anyway."]


# ---- a forced change -------------------------------------------------------------------------------------------------


def save_snapshot(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> str | None:
    """Save a snapshot before a change that is a risk and forced. Returns its path; None where it is neither.

    Raises KubeadmError when it could not be: then a member that runs is not stopped.
    """
    if pod.name != ETCD or not node.force or not is_running(pod, node):
        return None
    access = etcd_client.Access.from_files(ComponentFiles(plan.before))
    result = _read_cluster(plan.before)
    if _is_without_risks(result):
        return None
    try:
        return etcd_snapshot.save(access)
    except KubeadmError as exc:
        if result[0] is not None:
            raise
        raise KubeadmError(f"{exc} Without force a member that is not healthy is changed without a snapshot.") from exc


# ---- its data --------------------------------------------------------------------------------------------------------


def _refuse_moved_data(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """A member that starts with another directory is empty, and may seem healthy."""
    before, after = ComponentFiles(plan.before), ComponentFiles.planned(plan)
    if flags.gate_value(etcd_change.setting(plan.after, "force-new-cluster") or "false") is True:
        raise Refusal(
            "args: force-new-cluster creates a new cluster of one member from this one's data, at every start. It is for"
            " manual disaster recovery, and must not stay in a manifest."
        )
    moved = [
        f"{flag}: {was} -> {will_be}"
        for flag in _DATA_FLAGS
        for was, will_be in [
            (
                _data_directory(before, etcd_change.setting(plan.before, flag)),
                _data_directory(after, etcd_change.setting(plan.after, flag)),
            )
        ]
        if was != will_be
    ]
    if not moved:
        return []
    if is_running(pod, node):
        raise Refusal(
            f"refused before anything was written: the member on {os.uname().nodename} runs, and would start over other data"
            f" ({'; '.join(moved)}). Moving a member's data is done manually, with the member stopped."
        )
    return [
        f"{pod.name} on {os.uname().nodename} does not run, and starts over other data with this change ({'; '.join(moved)})"
    ]


def _refuse_detached_data(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext
) -> list[str]:
    """Refuse to restart a member whose data on the node are not those that it has open, unless it is forced: it would find an empty directory, and make
    an empty cluster. Behind an unmounted disk that was committed (1.37.2)."""
    process = static_pods.running_process(pod, node.host)
    files = ComponentFiles(plan.before)
    paths = [path for path in (etcd_change.setting(plan.before, flag) for flag in _DATA_FLAGS) if path]
    found = [
        f"{on_node} on {os.uname().nodename} is not what the running etcd has open as {path}, such as behind an unmounted disk"
        for path in (f"{path}{below}" for path in paths for below in ("", "/member"))
        if process
        and (on_node := _data_directory(files, path))
        and _is_detached(on_node, f"{node.host.proc}/{process.pid}/root{path}")
    ]
    if found and not node.force:
        raise Refusal(
            f"refused before anything was written: {found[0]}. A restarted member would begin with other data. Bring the directory back."
        )
    return [f"forced: {problem}" for problem in found]


def _is_detached(on_node: str, in_container: str) -> bool:
    """Whether the node has another directory, or none, where a container has one."""
    try:
        seen = os.stat(in_container)
    except OSError:
        return False
    try:
        return not os.path.samestat(seen, os.stat(on_node))
    except OSError:
        return True


def refuse_files_among_data(pod: static_pods.StaticPod, paths: t.Iterable[str]) -> None:
    """A task may name no file in a member's data, which this collection neither reads nor writes."""
    if pod.name != ETCD:
        return
    files = ComponentFiles(pod.manifest)
    directories = [
        directory
        for directory in (_data_directory(files, etcd_change.setting(pod.manifest, flag)) for flag in _DATA_FLAGS)
        if directory
    ]
    for path in paths:
        if any(os.path.commonpath([path, directory]) == directory for directory in directories):
            raise Refusal(f"files: {path} on {os.uname().nodename} is inside the data of etcd; name another directory.")


def _data_directory(files: ComponentFiles, path: str | None) -> str | None:
    try:
        return path and files.host_path(path)
    except KubeadmError:  # no volume is there, so it is inside of the container
        return path


# ---- its proof -------------------------------------------------------------------------------------------------------


def add_member_probes(journal: Journal, plan: static_pod.StaticPodPlan, directory: str, node: PreflightContext) -> None:
    """Have the transaction probe the member at its clients' address, too: the manifest's own
    probes have another port, without certificates. directory: of the manifests."""
    try:
        url = etcd_client.Access.from_files(ComponentFiles(plan.before)).url
        accesses = [etcd_client.Access.from_files(ComponentFiles(manifest)) for manifest in (plan.before, plan.after)]
    except KubeadmError as exc:  # its arguments name no address
        journal["watch"]["unverified"] = [f"whether it takes writes and has its members: {exc}"]
        return
    for side, access in zip(SIDES, accesses):
        journal["watch"][side]["probes"].append(access.health_probe(url))
        journal["watch"][side]["etcd"] = dataclasses.replace(access, url=url).to_journal()
    _add_api_server_probe(journal, directory, url, node)


def _add_api_server_probe(journal: Journal, directory: str, url: str, node: PreflightContext) -> None:
    """Have it probe with the API server's certificate, too, where that succeeds before the change."""
    if not _has_manifest(API_SERVER, directory):
        return
    try:
        path, dummy = static_pods.find_manifest(API_SERVER, directory)
        files = ComponentFiles(static_pods.read_manifest(path, API_SERVER))
        pair = (files.flag(f"etcd-{part}") for part in ("certfile", "keyfile"))
        certificate, key = (files.host_path(file) for file in pair if file)
    except ValueError:  # it uses no certificate
        return
    except KubeadmError as exc:
        journal["watch"]["unverified"] = [f"{_SERVES_API_SERVER}: {exc}"]
        return
    probe = etcd_client.Access(url, certificate, key).health_probe(url)
    served, message = retry_until_ready(lambda: run_probe(probe), lambda result: result[0], node)
    if not served:
        journal["watch"]["unverified"] = [f"{_SERVES_API_SERVER}: before the change {message}"]
        return
    for side in SIDES:
        journal["watch"][side]["probes"].append(probe)


# ---- where it is -----------------------------------------------------------------------------------------------------


def refuse_external(directory: str, node_name: str) -> None:
    """Refuse an etcd that is no static pod of this node. Unknown on a node without an API server. Raises Refusal."""
    api_server, member = (_find_manifest(name, directory) for name in (API_SERVER, ETCD))
    if api_server is None or (member is None and _has_manifest(ETCD, directory)):
        return  # reading such a manifest reports what is wrong with it
    servers = ComponentFiles(api_server).flags("etcd-servers")
    listening = [] if member is None else ComponentFiles(member).flags("listen-client-urls")
    if servers and (member is None or etcd_change.is_external(_resolve(servers), _resolve(listening))):
        etcd_change.refuse_external(node_name, servers)


def _unverified_api_server(pod: static_pods.StaticPod) -> list[str]:
    """What could not be verified where refuse_external() cannot read a manifest."""
    directory = os.path.dirname(pod.path)
    if _find_manifest(API_SERVER, directory) is not None or not _has_manifest(API_SERVER, directory):
        return []
    return ["whether the API server of this node uses this etcd: its manifest cannot be read"]


def _has_manifest(name: str, directory: str) -> bool:
    try:
        static_pods.find_manifest(name, directory)
    except KubeadmError:
        return False
    return True


def _find_manifest(name: str, directory: str) -> Manifest | None:
    try:
        path, dummy = static_pods.find_manifest(name, directory)
        return static_pods.read_manifest(path, name)
    except KubeadmError:
        return None


def _resolve(urls: t.Iterable[str]) -> list[tuple[str, int]]:
    """The (address, port) of each URL, names resolved by this node."""
    addresses: list[tuple[str, int]] = []
    for url in urls:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port or 2379
        addresses.append((host, port))
        try:
            addresses += [(str(entry[4][0]), port) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except OSError:  # a name that does not resolve is compared as it is
            continue
    return addresses
