# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster in which much goes on that is no change of a component: pods come and go, an API group flaps, and a webhook restarts.

It also has the processes that need all time of the machine.
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.lab.guard import CommandFailed
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import flapping_servers
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.certificates import Authority
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Json, until

NAMESPACE = "busy"
IMAGE = "lab.local/pause:1"
GROUP = flapping_servers.GROUP
# Where kubelets of the lab send the questions of their pods; nothing serves names there by itself.
NAME_SERVER = "10.96.0.10"
STEP_SECONDS = 2.0
EVERYWHERE: Json = {"tolerations": [{"operator": "Exists"}]}
_PKI = "/etc/kubernetes/pki"


def _object(kind: str, name: str, api: str = "v1", namespace: str = NAMESPACE, **content: t.Any) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **content.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **content}


def _service(name: str, namespace: str, address: str, ports: Json, **spec: t.Any) -> list[Json]:
    """A Service of a server on a node. ports: its port, that on the node, and the protocol."""
    slice_metadata = {"labels": {"kubernetes.io/service-name": name}}
    return [
        _object("Service", name, namespace=namespace, spec={"ports": [{**ports, "name": "all"}], **spec}),
        _object(
            "EndpointSlice", name, "discovery.k8s.io/v1", namespace, metadata=slice_metadata, addressType="IPv4",
            ports=[{"name": "all", "port": ports["targetPort"], "protocol": ports["protocol"]}],
            endpoints=[{"addresses": [address], "conditions": {"ready": True}}],
        ),
    ]  # fmt: skip


def _pod_spec(**fields: t.Any) -> Json:
    return {"terminationGracePeriodSeconds": 1, "containers": [{"name": "pause", "image": IMAGE}], **fields}


def _job_spec() -> Json:
    """Two pods of a few seconds, on any node."""
    template = {"spec": _pod_spec(restartPolicy="Never", **EVERYWHERE)}
    times = {"activeDeadlineSeconds": 6, "ttlSecondsAfterFinished": 5, "backoffLimit": 0}
    return {"parallelism": 2, "completions": 2, **times, "template": template}


def _group() -> Json:
    service = {"name": "group", "namespace": NAMESPACE}
    priorities = {"groupPriorityMinimum": 1000, "versionPriority": 15}
    return _object(
        "APIService", f"v1.{GROUP}", "apiregistration.k8s.io/v1", "",
        spec={"group": GROUP, "version": "v1", "service": service, "insecureSkipTLSVerify": True, **priorities},
    )  # fmt: skip


def _webhook(policy: str, url: str, authority: bytes) -> Json:
    """One for pods: one that may fail is consulted about all of them, one that may not about those of the busy namespace."""
    selected = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}} if policy == "Fail" else {}
    return {
        "name": f"{policy.lower()}.{GROUP}",
        "failurePolicy": policy,
        "namespaceSelector": selected,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode("ascii")},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "DELETE"], "resources": ["pods"]}
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }


def objects(address: str, authority: bytes) -> list[Json]:
    """All that is made. address: of the node with the servers; authority: the certificate of who signed theirs."""
    labels = {"app": "breath"}
    url = f"https://{address}:{flapping_servers.WEBHOOK_PORT}/"
    https = {"port": 443, "targetPort": flapping_servers.GROUP_PORT, "protocol": "TCP"}
    names = {"port": 53, "targetPort": flapping_servers.NAMES_PORT, "protocol": "UDP"}
    return [
        _object("Namespace", NAMESPACE, namespace=""),
        *_service("kube-dns", "kube-system", address, names, clusterIP=NAME_SERVER),
        *_service("group", NAMESPACE, address, https),
        _group(),
        _object(
            "ValidatingWebhookConfiguration", NAMESPACE, "admissionregistration.k8s.io/v1", "",
            webhooks=[_webhook(policy, url, authority) for policy in ("Ignore", "Fail")],
        ),
        _object(
            "Deployment", "breath", "apps/v1",
            spec={"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": _pod_spec()}},
        ),
        _object("CronJob", "minute", "batch/v1", spec={"schedule": "* * * * *", "jobTemplate": {"spec": _job_spec()}}),
    ]  # fmt: skip


class Bustle:
    """What goes on. steps: how many were made; refused: how many of them the webhook, or an API server that is away, kept from being made."""

    def __init__(self, cluster: Cluster, output: Path) -> None:
        self._cluster = cluster
        self._output = output
        self._over = threading.Event()
        self.steps = self.refused = 0

    def run(self) -> None:
        """Make pods and objects come and go until it is over."""
        while not self._over.wait(STEP_SECONDS):
            command, stdin = self._command(self.steps)
            self.steps += 1
            self.refused += bool(self._cluster.lab.kubectl_error(*command, stdin=stdin))

    def _command(self, number: int) -> tuple[list[str], str | None]:
        turn, step = divmod(number, 5)
        job = _object("Job", f"job-{turn}", "batch/v1", spec=_job_spec())
        # Its token is the newest one on the node of the API server, and ends with it.
        pod = _object("Pod", f"pod-{turn}", spec=_pod_spec(nodeName=self._cluster.first.name, **EVERYWHERE))
        in_namespace = ["--namespace", NAMESPACE]
        if step == 3:
            return ["delete", "pod", f"pod-{turn - 1}", *in_namespace, "--wait=false", "--ignore-not-found"], None
        if step == 0:
            return ["scale", "deployment/breath", *in_namespace, f"--replicas={(0, 6, 2, 4)[turn % 4]}"], None
        if step == 4:
            return ["delete", "apiservice", f"v1.{GROUP}", "--wait=false", "--ignore-not-found"], None
        made = {1: job, 2: pod}[step]
        return ["apply", "--filename=-"], json.dumps({"apiVersion": "v1", "kind": "List", "items": [made, _group()]})

    def end(self) -> None:
        """No step is made any more."""
        self._over.set()

    def _lines(self) -> list[dict[str, int]]:
        return [json.loads(line) for line in self._output.read_text(encoding="utf-8").splitlines()]

    def starts(self) -> dict[int, int]:
        """How often each server was started, by its port."""
        ports = [line["port"] for line in self._lines()]
        return {port: ports.count(port) for port in flapping_servers.SECONDS}

    def served(self) -> int:
        """How many requests they served until the last start."""
        return max(line["served"] for line in self._lines())

    def describe(self) -> str:
        """What went on, as a sentence."""
        group, webhook = self.starts().values()
        return (
            f"{self.steps} steps of pods, Jobs, a Deployment and an APIService, {self.refused} refused; the API group started"
            f" {group} times and the webhook {webhook} times, with {self.served()} requests"
        )


@contextlib.contextmanager
def bustling(cluster: Cluster) -> t.Iterator[Bustle]:
    """Have much go on for as long as the block lasts."""
    node = cluster.first
    output = cluster.records / "runs" / "flapping_servers.jsonl"
    pem = b"".join(Authority(node.path(_PKI)).make([node.address])).decode("ascii")
    source = Path(flapping_servers.__file__).read_text(encoding="utf-8")
    authority = node.path(f"{_PKI}/ca.crt").read_bytes()
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects(node.address, authority)})
    bustle = Bustle(cluster, output)
    with node.program("python3", "-c", source, pem, output=output) as servers:
        until(lambda: output.read_text(encoding="utf-8"), f"the servers: {servers.read_errors()}", 20)
        try:
            cluster.lab.kubectl("apply", "--filename=-", stdin=listed)
            thread = threading.Thread(target=bustle.run)
            thread.start()
            try:
                yield bustle
            finally:
                bustle.end()
                thread.join()
        finally:
            _remove(cluster)
            servers.close_input()


def _remove(cluster: Cluster) -> None:
    """What refuses, or keeps a namespace from going, goes first."""
    for command in (
        ("delete", "validatingwebhookconfiguration", NAMESPACE),
        ("delete", "apiservice", f"v1.{GROUP}"),
        ("delete", "service", "kube-dns", "--namespace=kube-system"),
        ("delete", "endpointslice", "kube-dns", "--namespace=kube-system"),
        ("delete", "namespace", NAMESPACE, "--timeout=120s"),
    ):
        with contextlib.suppress(CommandFailed):
            cluster.lab.kubectl(*command, "--ignore-not-found")


@contextlib.contextmanager
def loaded(processes: int) -> t.Iterator[None]:
    """Have so many processes need all the time of this machine for as long as the block lasts."""
    with contextlib.ExitStack() as stack:
        for dummy in range(processes):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(process.kill)
        yield
