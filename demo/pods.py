# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of the demo, by kubectl."""

from __future__ import annotations

import json
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.lab.runs import Json, Lab
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting

DONGLE = "example.com/dongle"
PAUSE = "lab.local/pause:1"
LONGEST = 60  # seconds that a pod may take to what is waited for


class Pods:
    """Makes pods in the namespace default and watches them."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._made: list[str] = []

    def make(
        self,
        name: str,
        *,
        devices: t.Mapping[str, int] | None = None,
        selector: t.Mapping[str, str] | None = None,
        tolerates: str | None = None,
        image: str = PAUSE,
        echo: str = "",
    ) -> None:
        """A pod that does nothing, but for the echo of a shell in its image.

        It tolerates the taint with one key at most: what is more, admission has to add.
        """
        amounts = {"cpu": "100m", **{key: str(amount) for key, amount in (devices or {}).items()}}
        spec = {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": dict(selector or {}),
            "tolerations": [{"key": tolerates, "operator": "Exists"}] if tolerates else [],
            "containers": [
                {
                    "name": "pause",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh", "-ec", f"echo {echo}; exec sleep infinity"] if echo else [],
                    "resources": {"requests": amounts, "limits": amounts},
                }
            ],
        }
        self._made.append(f"pod/{name}")
        self._lab.kubectl("apply", "--filename=-", stdin=json.dumps(_pod(name, spec)))

    def rejection(self, name: str, node: str) -> str:
        """Why a pod that goes to a node by its name, past the scheduler and taints, is refused; empty when it is made."""
        spec = {"nodeName": node, "containers": [{"name": "pause", "image": PAUSE}]}
        self._made.append(f"pod/{name}")
        return self._lab.kubectl_error("apply", "--filename=-", stdin=json.dumps(_pod(name, spec)))

    def make_deployment(self, name: str, replicas: int) -> None:
        """Pods that do nothing, of a Deployment; all of them run."""
        amounts = {"cpu": "50m", "memory": "32Mi"}
        container = {"name": "pause", "image": PAUSE, "imagePullPolicy": "IfNotPresent"}
        resources = {"requests": amounts, "limits": amounts}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {
                        "terminationGracePeriodSeconds": 0,
                        "containers": [{**container, "resources": resources}],
                    },
                },
            },
        }
        self._made.append(f"deployment/{name}")
        self._lab.kubectl("apply", "--filename=-", stdin=json.dumps(deployment))
        self._lab.kubectl("rollout", "status", f"deployment/{name}", f"--timeout={LONGEST}s")

    def of(self, name: str) -> list[Json]:
        """The pods of a Deployment."""
        return t.cast("list[Json]", self._lab.get("pods", f"--selector=app={name}")["items"])

    def wait(self, name: str, holds: t.Callable[[Json], bool]) -> Json:
        """The pod as soon as this holds of it, or as it is after a minute."""
        deadline = time.monotonic() + LONGEST
        while True:
            pod = self._lab.get("pod", name)
            if holds(pod) or time.monotonic() >= deadline:
                return pod
            time.sleep(0.5)

    def unschedulable(self, name: str) -> str:
        """Why the scheduler finds no place for it; empty when it found one."""
        return _pending_reason(self.wait(name, lambda pod: bool(_pending_reason(pod) or pod["spec"].get("nodeName"))))

    def wait_gone(self, name: str) -> bool:
        """Whether a pod is gone within a minute."""
        deadline = time.monotonic() + LONGEST
        while self.phase(name) is not None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.5)
        return True

    def phase(self, name: str) -> str | None:
        """What state a pod is in; None when there is none."""
        return self._lab.kubectl("get", "pod", name, "--ignore-not-found", "--output=jsonpath={.status.phase}") or None

    def wait_for_logs(self, name: str) -> str:
        """What a pod has printed, as soon as that is something, or nothing after a minute."""
        deadline = time.monotonic() + LONGEST
        while True:
            text = self._lab.kubectl("logs", name).strip()
            if text or time.monotonic() >= deadline:
                return text
            time.sleep(0.5)

    @staticmethod
    def limit(pod: Json) -> str | None:
        """The share that its container really has."""
        (status,) = pod["status"]["containerStatuses"]
        return t.cast("str | None", status.get("resources", {}).get("limits", {}).get("cpu"))

    def remove_all(self) -> None:
        """Remove them and wait until they are gone, a Deployment with its pods.

        The API forgets a pod without a grace period at once; it is gone when none of its containers runs on a node.
        """
        with Waiting("the pods are removed, with their containers", 5):
            self._lab.kubectl("delete", "--ignore-not-found", "--wait", "--cascade=foreground", *self._made)
            deadline = time.monotonic() + LONGEST
            while left := self._lab.pods_on_nodes() - self._lab.pods_in_api():
                if time.monotonic() >= deadline:
                    raise SystemExit(f"Pods whose containers still run after {LONGEST} s: {', '.join(sorted(left))}")
                time.sleep(0.5)


def _pod(name: str, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _pending_reason(pod: Json) -> str:
    conditions = pod["status"].get("conditions", [])
    return next((entry["message"] for entry in conditions if entry.get("reason") == "Unschedulable"), "")
