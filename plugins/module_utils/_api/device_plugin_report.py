# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(device_plugin_info) reads, and how long it waits for what is expected.

Of the objects of a deployment, and of others in their namespace, only the metadata is read, but for the DaemonSet, so that the data of
Secrets does not leave the API server.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.device import check as device_plugin_check
from .._plan.device import deployment, desired, placement
from .._plan.device.check import BUNDLED_PLUGIN, NAME_LABEL, REVISION_LABEL, NodeCheck, Observation
from .._plan.device.placement import Expectation, ExpectedAmounts, Placement
from .._plan.kubernetes import names as node_names
from .._plan.kubernetes.kubelet_lease import unverified_kubelets
from .._plan.kubernetes.pods import full_name
from .._plan.node import plan as node_plan
from .._plan.pod import templates as pod_templates
from .client import ApiError, Client, Connect, Json, Params
from .kubelet_leases import find_stale_leases
from .objects import version_warnings
from .parallel import for_each

PORT = 9808  # where the plugin of this collection reports its devices
# The reason of a pod that a starting kubelet rejected, after a reboot for instance, because the plugin had not registered.
NO_DEVICES = "UnexpectedAdmissionError"
_POLL_INTERVAL = 2.0  # seconds
# What a namespace may hold, by kind, with the path of its list.
_NAMESPACE_CONTENT = {
    "ConfigMap": "namespaces/{}/configmaps",
    "PersistentVolumeClaim": "namespaces/{}/persistentvolumeclaims",
    "Pod": "namespaces/{}/pods",
    "Secret": "namespaces/{}/secrets",
    "Service": "namespaces/{}/services",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
}
_DEFAULT_CONFIG_MAP = "kube-root-ca.crt"  # a ConfigMap that every namespace has


def read_all(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """Read what gather_subset names: the nodes compared with the expected amounts, the objects of the deployment, and others in its namespace."""
    for name in (name for entry in params["expected"] for name in entry["nodes"] or []):
        node_names.check_node("expected", name)
    client, subsets = connect(), params["gather_subset"]
    nodes = _read_nodes(client, params, warn) if "nodes" in subsets else _nodes_result({}, 0.0)
    objects = read_objects(client, params["namespace"], params["name"], subsets, workers=params["concurrency"])
    return {**nodes, **objects}


# ---- nodes -----------------------------------------------------------------------------------------------------------


def _read_nodes(client: Client, params: Params, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """Check the nodes; with C(wait), until all have the expected amounts or no further node gets them in time."""
    reader = _NodeReader(client, params)
    started = client.clock()
    checks = reader.check_nodes()
    for warning in (*reader.version_warnings(), *(reader.check_cdi() if params["cdi"] else ())):
        warn(warning)
    fewest = len(_problems(checks))

    def refresh() -> None:
        nonlocal checks
        checks = reader.check_nodes()

    def progresses() -> bool:
        nonlocal fewest
        former, fewest = fewest, min(fewest, len(_problems(checks)))
        return fewest < former

    # The timeout starts again with each node that works, because a rollout takes longer the more nodes there are.
    while params["wait"] and fewest and client.poll(progresses, params["wait_timeout"], _POLL_INTERVAL, refresh):
        pass
    if _problems(checks) and reader.observed.daemon_set is not None:
        checks = reader.check_in_detail()
    ended, unread = reader.ended_pods()
    unverified = [*reader.unverified(checks), *unread]
    for what in unverified:
        warn(f"not verified: {what}")
    return _nodes_result(checks, client.clock() - started, unverified, ended)


def _nodes_result(
    checks: t.Mapping[str, NodeCheck], seconds: float, unverified: t.Sequence[str] = (), ended: t.Sequence[str] = ()
) -> dict[str, t.Any]:
    return {
        "ended_pods": list(ended),
        "selected": sorted(checks),
        "nodes": {name: dataclasses.asdict(check) for name, check in checks.items()},
        "problems": _problems(checks),
        "unverified": list(unverified),
        "summary": [
            *(f"{name}: {check}" for name, check in checks.items()),
            *ended,
            *(f"not verified: {what}" for what in unverified),
        ],
        "waited_seconds": seconds,
    }


def _problems(checks: t.Mapping[str, NodeCheck]) -> list[str]:
    return [f"{name}: {check.problem}" for name, check in checks.items() if check.problem]


def _is_own_plugin(pod: Json) -> bool:
    """Whether it is the plugin of this collection, which reports its devices."""
    return (pod["metadata"].get("labels") or {}).get(NAME_LABEL) == BUNDLED_PLUGIN


class _NodeReader:
    """Reads nodes, DaemonSet and pods, and checks the nodes. observed: the objects of the last read."""

    def __init__(self, client: Client, params: Params) -> None:
        self._client = client
        self._name = params["name"]
        self._namespace = params["namespace"]
        self._workers = params["concurrency"]
        selector = {
            key: node_names.text_value("node_selector", key, value) for key, value in params["node_selector"].items()
        }
        self._placement = Placement(selector, params["tolerations"])
        self._expected = self._parse_expectations(params["expected"])
        self._nodes: dict[str, Json] = {}
        self._expected_amounts: t.Mapping[str, ExpectedAmounts] = {}
        self.observed = Observation(f"{self._namespace}/{self._name}", None, None, [], 0.0)

    def check_nodes(self) -> dict[str, NodeCheck]:
        """Check every node that gets the plugin. Raises Refusal when the expectations fit no node."""
        nodes = self._client.list("nodes")
        self._nodes = {node_plan.node_name(node): node for node in nodes}
        self._expected_amounts = placement.select_nodes(nodes, self._placement, self._expected)
        self.observed = self._read_observation()
        checks = self._check_all()
        return checks if _problems(checks) else self._confirm_by_plugins(checks)

    def _confirm_by_plugins(self, checks: dict[str, NodeCheck]) -> dict[str, NodeCheck]:
        """Check what works by the API against the reports of our plugins, because the API may not yet show a kubelet that stopped."""
        # Where one does not respond, the others mostly cannot be reached either, and each would take its timeout.
        self._query_plugins([check.pod for check in checks.values()], stop_at_failure=True)
        return self._confirm_by_leases()

    def _confirm_by_leases(self) -> dict[str, NodeCheck]:
        """Check what works without a report of our plugins against the Leases that kubelets renew."""
        checks = self._check_all()
        reported = {f"{self._namespace}/{pod}" for pod, report in self.observed.plugin_reports.items() if report}
        nodes = [name for name, check in checks.items() if not check.problem and check.pod not in reported]
        if not nodes:
            return checks
        found = find_stale_leases(self._client, nodes)
        stale_leases = found._replace(stale_seconds={**self.observed.stale_leases.stale_seconds, **found.stale_seconds})
        self.observed = dataclasses.replace(self.observed, stale_leases=stale_leases)
        return self._check_all()

    def unverified(self, checks: t.Mapping[str, NodeCheck]) -> list[str]:
        """What could not be verified of nodes that have the expected amounts. Only the plugin of this collection reports its devices."""
        pods = {check.pod.partition("/")[2] for check in checks.values() if check.pod and not check.problem}
        own_pods = [pod["metadata"]["name"] for pod in self.observed.pods if _is_own_plugin(pod)]
        working = [name for name, check in checks.items() if not check.problem]
        return [
            *device_plugin_check.unverified(self.observed, [name for name in own_pods if name in pods]),
            *unverified_kubelets(self.observed.stale_leases.unknown, working),
        ]

    def ended_pods(self) -> tuple[list[str], list[str]]:
        """Messages of the pods that ended on these nodes because a starting kubelet had no devices for them; and why these could not be read."""
        try:
            failed = self._client.list("pods", fieldSelector="status.phase=Failed")
        except ApiError as exc:
            return [], [f"whether pods ended because their devices were missing: {exc}"]
        return [
            f"{pod['spec']['nodeName']}: {full_name(pod)} ended with {NO_DEVICES}: {pod['status'].get('message') or 'no message'}"
            for pod in failed
            if pod["status"].get("reason") == NO_DEVICES and pod["spec"].get("nodeName") in self._expected_amounts
        ], []

    def version_warnings(self) -> list[str]:
        """Warnings of the versions of the API server and of the kubelets that get the plugin."""
        return version_warnings(self._client, [self._nodes[name] for name in self._expected_amounts])

    def check_cdi(self) -> list[str]:
        """Warnings of the nodes that get the plugin, where it passes devices by CDI. Raises Refusal."""
        return placement.check_cdi([self._nodes[name] for name in sorted(self._expected_amounts)])

    def check_in_detail(self) -> dict[str, NodeCheck]:
        """Repeat the last checks, with what only matters when something is wrong: the events, and the reports of the plugins, of nodes with
        problems first."""
        checks = self._check_all().values()
        self._query_plugins([check.pod for check in checks if check.problem])
        self._query_plugins([check.pod for check in checks if not check.problem], stop_at_failure=True)
        self.observed = dataclasses.replace(self.observed, events=self._read_warnings())
        return self._confirm_by_leases()

    def _query_plugins(self, pods: t.Iterable[str | None], stop_at_failure: bool = False) -> None:
        """Read the reports of our plugin's pods. pods: full names. stop_at_failure: read no more after one that does not respond."""
        names = {pod.partition("/")[2] for pod in pods if pod}
        queried = [pod for pod in self.observed.pods if pod["metadata"]["name"] in names and _is_own_plugin(pod)]
        reports = dict(self.observed.plugin_reports)

        def query(pod: Json) -> bool:
            report = self._read_devices(pod)
            reports[pod["metadata"]["name"]] = report
            return bool(report)

        for_each(queried, query, workers=self._workers, stop_at_failure=stop_at_failure)
        self.observed = dataclasses.replace(self.observed, plugin_reports=reports)

    def _check_all(self) -> dict[str, NodeCheck]:
        return {
            name: device_plugin_check.check_node(self._nodes[name], expected, self.observed)
            for name, expected in sorted(self._expected_amounts.items())
        }

    def _parse_expectations(self, option: t.Sequence[t.Mapping[str, t.Any]]) -> list[Expectation]:
        return placement.parse_expectations(
            option,
            lambda selector: [node_plan.node_name(n) for n in self._client.list("nodes", labelSelector=selector)],
        )

    def _read_observation(self) -> Observation:
        daemon_set = self._client.find(f"/apis/apps/v1/namespaces/{self._namespace}/daemonsets/{self._name}")
        if daemon_set is None:
            return Observation(self.observed.name, None, None, [], 0.0)
        selector = pod_templates.selector_text(daemon_set["spec"]["selector"])
        pods = self._list_controlled(daemon_set, f"namespaces/{self._namespace}/pods", selector)
        return Observation(
            self.observed.name, daemon_set, self._read_revision(daemon_set, selector), pods, self._client.server_time()
        )

    def _read_revision(self, daemon_set: Json, selector: str) -> str | None:
        """The hash of the newest template; None while the controller has not observed it yet."""
        if daemon_set.get("status", {}).get("observedGeneration") != daemon_set["metadata"]["generation"]:
            return None
        path = f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions"
        revisions = self._list_controlled(daemon_set, path, selector)
        newest = max(revisions, key=lambda revision: int(revision["revision"]), default=None)
        return str(newest["metadata"]["labels"][REVISION_LABEL]) if newest else None

    def _list_controlled(self, daemon_set: Json, path: str, selector: str) -> list[Json]:
        """The objects that the DaemonSet's controller created; the labels of others may match, too."""
        uids = [daemon_set["metadata"]["uid"]]
        objects = self._client.list(path, labelSelector=selector)
        return [item for item in objects if pod_templates.is_controlled_by(item, uids)]

    def _read_warnings(self) -> dict[tuple[str, str], str]:
        """The newest warning of each object in the namespace; none where the account may not read them."""
        try:
            path = f"namespaces/{self._namespace}/events"
            events = self._client.without_retries().list(path, fieldSelector="type=Warning")
        except KubeadmError:
            return {}
        events.sort(key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
        return {
            (subject["kind"], subject["name"]): f"{event.get('reason')}: {event.get('message')}"
            for event in events
            for subject in [event["involvedObject"]]
        }

    def _read_devices(self, pod: Json) -> Json:
        """The report of our plugin about its devices; empty where it does not respond."""
        path = f"namespaces/{self._namespace}/pods/{pod['metadata']['name']}:{PORT}/proxy/devices"
        try:
            report = self._client.without_retries().get(path)
        except KubeadmError:
            return {}
        # Another program may listen on that port.
        return report if all(isinstance(each, dict) for each in report.values()) else {}


# ---- objects ---------------------------------------------------------------------------------------------------------


def read_objects(
    client: Client, namespace: str, name: str, subsets: t.Collection[str], *, workers: int
) -> dict[str, list[Json]]:
    """C(objects) and C(others) as the subsets name them; else they are empty. Others are read of a namespace that this collection owns."""
    objects = _list_objects(client, namespace, name) if {*subsets} & {"objects", "others"} else []
    owned = any(each["kind"] == deployment.NAMESPACE and deployment.is_owned(each) for each in objects)
    return {
        "objects": objects if "objects" in subsets else [],
        "others": _list_others(client, namespace, workers=workers) if owned and "others" in subsets else [],
    }


def _list_objects(client: Client, namespace: str, name: str) -> list[Json]:
    """The namespace, and in it the DaemonSet and the objects with the files of a plugin, as far as they exist."""
    objects = [
        (deployment.NAMESPACE, client.find(f"namespaces/{namespace}", metadata_only=True)),
        (deployment.DAEMON_SET, client.find(pod_templates.path_of(namespace, deployment.DAEMON_SET, name))),
        *(
            (deployment.CONFIG_MAP, each)
            for each in client.list(f"namespaces/{namespace}/configmaps", metadata_only=True)
            if desired.is_config_map(each["metadata"]["name"], name)
        ),
        (
            deployment.SECRET,
            client.find(f"namespaces/{namespace}/secrets/{desired.token_secret_name(name)}", metadata_only=True),
        ),
    ]
    return [_describe_object(kind, each) for kind, each in objects if each is not None]


def _list_others(client: Client, namespace: str, *, workers: int) -> list[Json]:
    """The objects of the usual kinds in a namespace, but for those that every namespace has. They keep it from being removed."""
    lists: dict[str, list[Json]] = {}

    def read_all(kind: str) -> bool:
        lists[kind] = client.list(_NAMESPACE_CONTENT[kind].format(namespace), metadata_only=True)
        return True

    for_each(list(_NAMESPACE_CONTENT), read_all, workers=workers, stop_at_failure=True)
    described = [_describe_object(kind, each) for kind in _NAMESPACE_CONTENT for each in lists[kind]]
    return [each for each in described if each["name"] != _DEFAULT_CONFIG_MAP]


def _describe_object(kind: str, item: t.Mapping[str, t.Any]) -> Json:
    template = item.get("spec", {}).get("template", {}).get("spec", {})
    volumes = template.get("volumes") or []
    return {
        "kind": kind,
        "name": item["metadata"]["name"],
        "labels": item["metadata"].get("labels") or {},
        "config_maps": [each["configMap"]["name"] for each in volumes if "configMap" in each],
    }
