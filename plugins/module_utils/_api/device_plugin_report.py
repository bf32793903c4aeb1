# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(device_plugin_info) reads, and how long it waits for what is expected.

Of the objects of a deployment, and of what shares their namespace, only the metadata is asked for, but for the DaemonSet, so that the data of
Secrets does not leave the API server.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.device import check as device_plugin_check
from .._plan.device import deployment, desired
from .._plan.device import placement as device_plugin
from .._plan.device.check import NAME_LABEL, OURS, REVISION_LABEL, NodeCheck, Observation
from .._plan.device.placement import Expectation, ExpectedAmounts, Placement
from .._plan.kubernetes import names as node_names
from .._plan.kubernetes.kubelet_lease import unheard_kubelets
from .._plan.kubernetes.pods import full_name
from .._plan.node import plan as node_plan
from .._plan.pod import templates as pod_templates
from .client import ApiError, Client, Connect, Json, Params
from .kubelet_leases import find_silent
from .objects import version_warnings
from .parallel import for_each

PORT = 9808  # where our plugin tells of itself
# The reason of a pod that a kubelet ended at its start, after a reboot for instance, before the plugin had registered.
NO_DEVICES = "UnexpectedAdmissionError"
_POLL_INTERVAL = 2.0  # seconds between two looks
# What keeps a namespace, by kind.
_OTHERS = {
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
_OF_ALL_NAMESPACES = "kube-root-ca.crt"  # a ConfigMap that every namespace has


def read(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """Read what is needed: the nodes held against what is expected of them, the objects of the deployment, and what is beside them."""
    for name in (name for entry in params["expected"] for name in entry["nodes"] or []):
        node_names.check_node("expected", name)
    client, subsets = connect(), params["gather_subset"]
    nodes = _read_nodes(client, params, warn) if "nodes" in subsets else _nodes({}, 0.0)
    objects = read_objects(client, params["namespace"], params["name"], subsets, workers=params["concurrency"])
    return {**nodes, **objects}


# ---- nodes -----------------------------------------------------------------------------------------------------------


def _read_nodes(client: Client, params: Params, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """With C(wait), until the nodes offer what is expected or no further node comes to it in time."""
    reader = _Reader(client, params)
    began = client.clock()
    checks = reader.look()
    for warning in (*reader.version_warnings(), *(reader.check_cdi() if params["cdi"] else ())):
        warn(warning)
    fewest = len(_problems(checks))

    def refresh() -> None:
        nonlocal checks
        checks = reader.look()

    def are_fewer() -> bool:
        nonlocal fewest
        former, fewest = fewest, min(fewest, len(_problems(checks)))
        return fewest < former

    # With each node that works the time begins again: a rollout goes on, node by node, and a large cluster has many.
    while params["wait"] and fewest and client.poll(are_fewer, params["wait_timeout"], _POLL_INTERVAL, refresh=refresh):
        pass
    if _problems(checks) and reader.observed.daemon_set is not None:
        checks = reader.look_closer()
    ended, unread = reader.ended_pods()
    unverified = [*reader.unverified(checks), *unread]
    for what in unverified:
        warn(f"not verified: {what}")
    return _nodes(checks, client.clock() - began, unverified, ended)


def _nodes(
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


def _is_ours(pod: Json) -> bool:
    """Whether it is the plugin of this collection, which tells of itself."""
    return (pod["metadata"].get("labels") or {}).get(NAME_LABEL) == OURS


class _Reader:
    """Looks at nodes, DaemonSet and pods. seen: what the last look showed."""

    def __init__(self, client: Client, params: Params) -> None:
        self._client = client
        self._name = params["name"]
        self._namespace = params["namespace"]
        self._workers = params["concurrency"]
        selector = {
            key: node_names.text_value("node_selector", key, value) for key, value in params["node_selector"].items()
        }
        self._placement = Placement(selector, params["tolerations"])
        self._expected = self._expectations(params["expected"])
        self._nodes: dict[str, Json] = {}
        self._wanted: t.Mapping[str, ExpectedAmounts] = {}
        self.observed = Observation(f"{self._namespace}/{self._name}", None, None, [], 0.0)

    def look(self) -> dict[str, NodeCheck]:
        """Check every node that gets the plugin. Raises Refusal when the expectations fit no node."""
        nodes = self._client.list("nodes")
        self._nodes = {node_plan.node_name(node): node for node in nodes}
        self._wanted = device_plugin.select(nodes, self._placement, self._expected)
        self.observed = self._observe()
        checks = self._checks()
        return checks if _problems(checks) else self._confirmed(checks)

    def _confirmed(self, checks: dict[str, NodeCheck]) -> dict[str, NodeCheck]:
        """What seems to work by the API, held against what our plugins say: of a kubelet that stops, the API hears nothing."""
        # Where one does not answer, the others are mostly out of reach, too, and each would be waited for.
        self._ask([check.pod for check in checks.values()], stop_at_failure=True)
        return self._with_live_kubelets()

    def _with_live_kubelets(self) -> dict[str, NodeCheck]:
        """What seems to work although no plugin of ours says so, held against the Leases that kubelets renew."""
        checks = self._checks()
        told = {f"{self._namespace}/{pod}" for pod, said in self.observed.told.items() if said}
        nodes = [name for name, check in checks.items() if not check.problem and check.pod not in told]
        if not nodes:
            return checks
        found = find_silent(self._client, nodes)
        silence = found._replace(silent={**self.observed.silence.silent, **found.silent})
        self.observed = dataclasses.replace(self.observed, silence=silence)
        return self._checks()

    def unverified(self, checks: t.Mapping[str, NodeCheck]) -> list[str]:
        """What could not be verified of nodes that offer what is expected. Another plugin than ours tells nothing of itself."""
        pods = {check.pod.partition("/")[2] for check in checks.values() if check.pod and not check.problem}
        ours = [pod["metadata"]["name"] for pod in self.observed.pods if _is_ours(pod)]
        works = [name for name, check in checks.items() if not check.problem]
        return [
            *device_plugin_check.unverified(self.observed, [name for name in ours if name in pods]),
            *unheard_kubelets(self.observed.silence.unheard, works),
        ]

    def ended_pods(self) -> tuple[list[str], list[str]]:
        """The pods that ended on these nodes because a starting kubelet had no devices for them, in words; and why they are not known."""
        try:
            failed = self._client.list("pods", fieldSelector="status.phase=Failed")
        except ApiError as exc:
            return [], [f"whether pods ended because their devices were missing: {exc}"]
        return [
            f"{pod['spec']['nodeName']}: {full_name(pod)} ended with {NO_DEVICES}: {pod['status'].get('message') or 'no message'}"
            for pod in failed
            if pod["status"].get("reason") == NO_DEVICES and pod["spec"].get("nodeName") in self._wanted
        ], []

    def version_warnings(self) -> list[str]:
        """What to say of the versions of the API server and of the kubelets that get the plugin."""
        return version_warnings(self._client, [self._nodes[name] for name in self._wanted])

    def check_cdi(self) -> list[str]:
        """What has to be seen to on the nodes that get the plugin, where it hands devices out by CDI. Raises Refusal."""
        return device_plugin.check_cdi([self._nodes[name] for name in sorted(self._wanted)])

    def look_closer(self) -> dict[str, NodeCheck]:
        """The last look again, with what only matters when something is wrong: warnings, and what the plugin says itself. Nodes that seem to work
        are asked as they are where all do."""
        checks = self._checks().values()
        self._ask([check.pod for check in checks if check.problem])
        self._ask([check.pod for check in checks if not check.problem], stop_at_failure=True)
        self.observed = dataclasses.replace(self.observed, events=self._warnings())
        return self._with_live_kubelets()

    def _ask(self, pods: t.Iterable[str | None], stop_at_failure: bool = False) -> None:
        """Have pods of our plugin tell of themselves. pods: full names. stop_at_failure: ask no more after one that does not."""
        names = {pod.partition("/")[2] for pod in pods if pod}
        asked = [pod for pod in self.observed.pods if pod["metadata"]["name"] in names and _is_ours(pod)]
        told = dict(self.observed.told)

        def ask(pod: Json) -> bool:
            answer = self._tell(pod)
            told[pod["metadata"]["name"]] = answer
            return bool(answer)

        for_each(asked, ask, workers=self._workers, stop_at_failure=stop_at_failure)
        self.observed = dataclasses.replace(self.observed, told=told)

    def _checks(self) -> dict[str, NodeCheck]:
        return {
            name: device_plugin_check.check(self._nodes[name], expected, self.observed)
            for name, expected in sorted(self._wanted.items())
        }

    def _expectations(self, option: t.Sequence[t.Mapping[str, t.Any]]) -> list[Expectation]:
        return device_plugin.parse(
            option,
            lambda selector: [node_plan.node_name(n) for n in self._client.list("nodes", labelSelector=selector)],
        )

    def _observe(self) -> Observation:
        daemon_set = self._client.find(f"/apis/apps/v1/namespaces/{self._namespace}/daemonsets/{self._name}")
        if daemon_set is None:
            return Observation(self.observed.name, None, None, [], 0.0)
        selector = pod_templates.selector_text(daemon_set["spec"]["selector"])
        pods = self._made(daemon_set, f"namespaces/{self._namespace}/pods", selector)
        return Observation(
            self.observed.name, daemon_set, self._revision(daemon_set, selector), pods, self._client.server_time()
        )

    def _revision(self, daemon_set: Json, selector: str) -> str | None:
        """The hash of the newest template; None while the controller has not seen it yet."""
        if daemon_set.get("status", {}).get("observedGeneration") != daemon_set["metadata"]["generation"]:
            return None
        path = f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions"
        found = self._made(daemon_set, path, selector)
        newest = max(found, key=lambda revision: int(revision["revision"]), default=None)
        return str(newest["metadata"]["labels"][REVISION_LABEL]) if newest else None

    def _made(self, daemon_set: Json, path: str, selector: str) -> list[Json]:
        """What the DaemonSet's controller made; labels may fit those of others, too."""
        uids = [daemon_set["metadata"]["uid"]]
        found = self._client.list(path, labelSelector=selector)
        return [item for item in found if pod_templates.is_made_by(item, uids)]

    def _warnings(self) -> dict[tuple[str, str], str]:
        """The newest warning of each object in the namespace; none where the account may not read them."""
        try:
            events = self._client.without_retries().list(
                f"namespaces/{self._namespace}/events", fieldSelector="type=Warning"
            )
        except KubeadmError:
            return {}
        events.sort(key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
        return {
            (
                event["involvedObject"]["kind"],
                event["involvedObject"]["name"],
            ): f"{event.get('reason')}: {event.get('message')}"
            for event in events
        }

    def _tell(self, pod: Json) -> Json:
        """What our own plugin says of its devices; nothing where it does not answer."""
        path = f"namespaces/{self._namespace}/pods/{pod['metadata']['name']}:{PORT}/proxy/devices"
        try:
            found = self._client.without_retries().get(path)
        except KubeadmError:
            return {}
        # Another program may listen there.
        return found if all(isinstance(each, dict) for each in found.values()) else {}


# ---- objects ---------------------------------------------------------------------------------------------------------


def read_objects(
    client: Client, namespace: str, name: str, subsets: t.Collection[str], *, workers: int
) -> dict[str, list[Json]]:
    """C(objects) and C(others) as the subsets name them; else they are empty. Others are read of a namespace that goes with the plugin."""
    objects = _objects(client, namespace, name) if {*subsets} & {"objects", "others"} else []
    goes = any(each["kind"] == deployment.NAMESPACE and deployment.is_owned(each) for each in objects)
    return {
        "objects": objects if "objects" in subsets else [],
        "others": _others(client, namespace, workers=workers) if goes and "others" in subsets else [],
    }


def _objects(client: Client, namespace: str, name: str) -> list[Json]:
    """The namespace, and in it the DaemonSet and the objects with the files of a plugin, as far as they are there."""
    found = [
        (deployment.NAMESPACE, client.find(f"namespaces/{namespace}", metadata_only=True)),
        (deployment.DAEMON_SET, client.find(pod_templates.path_of(namespace, deployment.DAEMON_SET, name))),
        *(
            (deployment.CONFIG_MAP, each)
            for each in client.list(f"namespaces/{namespace}/configmaps", metadata_only=True)
            if desired.is_config_map(each["metadata"]["name"], name)
        ),
        (
            deployment.SECRET,
            client.find(f"namespaces/{namespace}/secrets/{desired.token_secret(name)}", metadata_only=True),
        ),
    ]
    return [_described(kind, each) for kind, each in found if each is not None]


def _others(client: Client, namespace: str, *, workers: int) -> list[Json]:
    """What keeps a namespace that exists: objects of the usual kinds, but for what every namespace has."""
    found: dict[str, list[Json]] = {}

    def read(kind: str) -> bool:
        found[kind] = client.list(_OTHERS[kind].format(namespace), metadata_only=True)
        return True

    for_each(list(_OTHERS), read, workers=workers, stop_at_failure=True)
    every = [_described(kind, each) for kind in _OTHERS for each in found[kind]]
    return [each for each in every if each["name"] != _OF_ALL_NAMESPACES]


def _described(kind: str, found: t.Mapping[str, t.Any]) -> Json:
    template = found.get("spec", {}).get("template", {}).get("spec", {})
    volumes = template.get("volumes") or []
    return {
        "kind": kind,
        "name": found["metadata"]["name"],
        "labels": found["metadata"].get("labels") or {},
        "config_maps": [each["configMap"]["name"] for each in volumes if "configMap" in each],
    }
