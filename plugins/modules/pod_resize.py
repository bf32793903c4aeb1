#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pod_resize
short_description: Resize CPU and memory of running pods
description:
  - Changes requests and limits of the containers of running pods in place, of many pods at once. The playbook C(nodecraft.kubeadm.resize) runs it
    with variables.
  - Uses the subresource C(pods/resize) where the API server has it, which is from Kubernetes 1.32 on, and a patch of the pod itself
    up to 1.31. Up to 1.32 the feature gate C(InPlacePodVerticalScaling) must be on in every component.
  - Returns the outcome of every pod, in Kubernetes' own words where a resize was refused or deferred.
  - A resize that is not done is taken back, and with O(on_error=rollback), the default, so are the others of the task. What another client
    changed since stays as it is.
  - Before a change it looks at the quotas of the namespace when several pods grow, at the memory in use when a limit of memory gets lower, and, in
    check mode or with O(wait=false), at the room of the nodes. A pod that cannot be resized now is refused before anything is sent to it.
  - A resize changes pods only. The template from which a controller creates new pods stays as it is, unless O(template=update). The result has the
    templates that differ from their pods.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - The account needs the verb C(list) on C(pods), C(get) for O(names), and C(patch) on C(pods/resize), in O(namespace). Up to
    Kubernetes 1.31 that is C(patch) on C(pods).
  - For O(owner), and unless O(template=keep), it needs C(get) on C(deployments), C(statefulsets), C(daemonsets) and C(replicasets)
    (C(apps)), and C(list) on C(replicasets) for a Deployment; for O(template=update) C(patch), too.
  - With C(list) on C(resourcequotas) in O(namespace), C(get) on C(nodes), C(list) on C(pods) of all namespaces, and C(get) on C(nodes/proxy) or
    C(list) on C(pods) of C(metrics.k8s.io), it looks at what would keep pods from being resized. What the account may not read is in
    RV(unverified).
  - With C(list) on C(leases) in C(kube-node-lease) it learns of a pod with nothing to change that its kubelet has just stopped. Without it such a
    pod is told as not verified.
attributes:
  check_mode:
    support: full
    description: >-
      Sends the same patches as a dry run, and looks at quotas, the room of nodes and the memory in use. What else kubelets may refuse shows only
      when pods are resized. What could not be looked at is in RV(unverified).
  diff_mode:
    support: full
    description: Returns the difference of every pod and every template that changes.
  idempotent:
    support: full
    description: >-
      Amounts are compared by value, so that V(0.5) and V(500m) are the same, and a second run with the same options sends no patch.
options:
  namespace:
    description:
      - Namespace of the pods.
    type: str
    required: true
  names:
    description:
      - Names of pods. One that does not exist fails the task after the others are done.
    type: list
    elements: str
  label_selector:
    description:
      - Selects pods by their labels, in Kubernetes' syntax. Pods that have ended or are being deleted are skipped. When no pod is
        left the task fails.
    type: str
  owner:
    description:
      - All pods of a controller.
    type: dict
    suboptions:
      kind:
        description: Kind of the controller.
        type: str
        required: true
        choices:
          - Deployment
          - StatefulSet
          - DaemonSet
      name:
        description: Name of the controller.
        type: str
        required: true
  containers:
    description:
      - Desired amounts of single containers. What is not named stays as it is, other containers as well as other amounts. Sidecars count as
        containers here.
      - Required with O(state=present). With O(state=absent) it limits the task to these containers.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the container.
        type: str
        required: true
      resources:
        description: The amounts, of C(cpu) and C(memory) only. Neither can be removed from a running pod.
        type: dict
        suboptions:
          requests:
            description: What is reserved for the container, such as C(cpu) V(500m) and C(memory) V(600Mi).
            type: dict
          limits:
            description: The maximum for the container.
            type: dict
  state:
    description:
      - With V(present) the containers get the amounts in O(containers).
      - With V(absent) resizes are reverted, also those that something else made. The containers get the amounts of their controller's template again.
    type: str
    choices:
      - present
      - absent
    default: present
  template:
    description:
      - What to do about the templates of the controllers of the pods.
      - V(report) leaves them as they are, and warns of those that differ from their pods, because their amounts return with the next rollout.
      - V(keep) leaves them as they are and does not check them.
      - V(update) changes them as well, when their pods in this task have the desired amounts. The task waits for that for O(wait_timeout)
        seconds, also with O(wait=false). A template stays as it is, with a message in RV(templates), when one of these pods failed, was
        deferred, or has no node yet.
      - A changed template of a Deployment always rolls out, which replaces all its pods, including the resized ones; other controllers follow
        their C(updateStrategy).
    type: str
    choices:
      - keep
      - update
      - report
    default: report
  allow_restart:
    description:
      - Whether containers may be restarted whose C(resizePolicy) requires that when C(cpu) or C(memory) changes. Otherwise a pod with such a
        container is refused, with the name of the container.
    type: bool
    default: false
  max_unavailable:
    description:
      - How many pods of this task may be without the condition C(Ready) while containers are restarted; a number, or a percentage of the pods,
        rounded down and at least 1.
      - All pods of the task are checked again before each next one is restarted. One that is gone counts, too.
      - The task waits for such pods, O(wait_timeout) seconds each time, also with O(wait=false). Pods that need no restart are all changed at
        once.
    type: str
    default: "1"
  on_error:
    description:
      - What happens when a pod fails. In any case that pod gets its former amounts again, unless another client has changed them since.
      - With V(rollback) nothing is sent when one of the pods cannot be resized, nothing more is sent after the first failure, and all pods that
        were changed get their former amounts again. Templates are not changed then.
      - With V(continue) every pod is tried, and those that were resized keep their amounts.
      - With V(stop) nothing is sent to further pods after the first failure, and those that were resized keep their amounts.
      - Pods whose containers restart for it get their former amounts one after the other, see O(max_unavailable).
      - A limit that a container did not have before cannot be taken back, and a warning says so beforehand. A task that is killed takes nothing back.
    type: str
    choices:
      - rollback
      - continue
      - stop
    default: rollback
  wait:
    description:
      - Wait until the kubelets have resized every pod, also when nothing had to be changed. The task waits for a deferred pod, but not for an
        infeasible one. What is not done in time is taken back.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait, with O(wait=true), with O(template=update), for pods whose containers are restarted, and for pods that get their former
        amounts again.
    type: int
    default: 120
seealso:
  - module: nodecraft.kubeadm.node_resource_info
"""

EXAMPLES = r"""
- name: Resize all pods of a Deployment without a restart
  nodecraft.kubeadm.pod_resize:
    namespace: shop
    owner:
      kind: Deployment
      name: web
    containers:
      - name: app
        resources:
          requests:
            cpu: "2"
            memory: 600Mi
          limits:
            cpu: "2"
            memory: 600Mi
    wait: true

- name: Show what a resize would change
  nodecraft.kubeadm.pod_resize:
    namespace: shop
    label_selector: app=web
    containers:
      - name: app
        resources:
          limits:
            cpu: 750m
  check_mode: true
  diff: true

- name: Resize pods whose containers must be restarted, two at a time
  nodecraft.kubeadm.pod_resize:
    namespace: shop
    label_selector: app=cache
    containers:
      - name: redis
        resources:
          limits:
            memory: 2Gi
    allow_restart: true
    max_unavailable: 2

- name: Reset the pods of a StatefulSet to its template
  nodecraft.kubeadm.pod_resize:
    namespace: shop
    owner:
      kind: StatefulSet
      name: db
    state: absent
"""

RETURN = r"""
api:
  description: The API server that was used.
  returned: always
  type: dict
  contains:
    host:
      description: Name of the machine that sent the requests.
      type: str
    server:
      description: URL of the API server that answered last; V(null) when none did.
      type: str
  sample:
    host: cp1
    server: https://10.0.0.10:6443
pods:
  description: The result of every pod, by name.
  returned: always
  type: dict
  contains:
    changed:
      description: Whether the API server accepted a change that was not taken back; in check mode, whether it would accept one.
      type: bool
    failed:
      description: Whether the pod failed.
      type: bool
    outcome:
      description:
        - V(unchanged), it already had the desired amounts.
        - V(accepted), the API server accepted the change, or would in check mode, and the task did not wait for the kubelet.
        - V(resized), the containers have the amounts. V(restarted), the same, and a container was restarted.
        - V(in_progress), the kubelet has not finished. V(deferred), there is no room now, and the kubelet retries by itself. Both fail a
          task that waits.
        - V(infeasible), there will never be room, or the node does not support it.
        - V(refused), by the API server or before anything was sent.
        - V(unknown), the API server stopped answering, so the change may have been made.
        - V(rolled_back), it was changed, and has its former amounts again because another pod failed.
        - V(gone), the pod does not exist, or no longer.
        - V(not_tried), because of other pods.
      type: str
    msg:
      description: Why it failed, is deferred, or was not tried, in Kubernetes' own words where available. Empty otherwise.
      type: str
    node:
      description: Name of the node; V(null) when it has none.
      type: str
    restarted:
      description: The containers that were restarted meanwhile.
      type: list
      elements: str
    rolled_back:
      description: >-
        Whether it was given its former amounts again; V(null) when nothing had to be taken back. V(false) with the reason in RV(pods.msg).
      type: bool
    command:
      description: >-
        What takes a resize back that is not done and that the task did not take back; empty when there is none, or when another client changed the
        pod since.
      type: str
    operations:
      description: Every amount that changes. After a rollback it has what was there before.
      type: list
      elements: dict
      contains:
        field:
          description: V(requests.cpu), V(requests.memory), V(limits.cpu) or V(limits.memory).
          type: str
        key:
          description: Name of the container.
          type: str
        before:
          description: The former amount; V(null) when there was none.
          type: str
        after:
          description: The new amount.
          type: str
  sample:
    web-5d9c7b6f4-x2x7p:
      changed: true
      failed: false
      outcome: resized
      msg: ""
      node: w1
      restarted: []
      rolled_back: null
      command: ""
      operations:
        - field: limits.cpu
          key: app
          before: 700m
          after: "2"
templates:
  description: >-
    The templates of the controllers of these pods, by kind and name. Empty with O(template=keep), unless O(state=absent), which takes the
    amounts from them, and where the account may not read them.
  returned: always
  type: dict
  contains:
    changed:
      description: Whether the template was changed, or would be in check mode.
      type: bool
    failed:
      description: Whether changing it failed.
      type: bool
    msg:
      description: Why it failed or was left as it is, or what happens to its pods. Empty otherwise.
      type: str
    differs:
      description: Whether pods differ from the template.
      type: bool
    differences:
      description: Each amount that differs.
      type: list
      elements: dict
      contains:
        field:
          description: The amount, as in the operations of pods.
          type: str
        container:
          description: Name of the container.
          type: str
        template:
          description: The amount in the template; V(null) for none.
          type: str
        pods:
          description: The amounts of pods instead, each once; V(null) for none.
          type: list
          elements: str
    rollout:
      description: What Kubernetes does with the pods when the template changes.
      type: str
    operations:
      description: Every amount of the template that changes, as in the operations of pods.
      type: list
      elements: dict
  sample:
    Deployment/web:
      changed: false
      failed: false
      msg: ""
      differs: true
      differences:
        - field: limits.cpu
          container: app
          template: 700m
          pods:
            - "2"
      rollout: "a changed Deployment template always rolls out: all its pods are replaced"
      operations: []
unverified:
  description: What could not be verified, each entry with the reason. Each is a warning, too.
  returned: always
  type: list
  elements: str
  sample: []
diff:
  description: The difference of each pod and each template that changes. Empty unless diff mode is on.
  returned: always
  type: list
  elements: dict
rehearsal:
  description: Verdict of the API server on the change, from a dry run; in check mode only.
  returned: always
  type: dict
  contains:
    verdict:
      description: V(accepted), V(refused), V(skipped) or V(not_needed).
      type: str
    message:
      description: Its own message, or why there was no dry run.
      type: str
    seconds:
      description: How long it took.
      type: float
    command:
      description: Always empty here.
      type: list
      elements: str
    warnings:
      description: Always empty here. What the API server warns of is in C(warnings) of the result.
      type: list
      elements: str
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.pod_resize_steps import PodResizeSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, change_options

_OWNER = {
    "kind": {"type": "str", "required": True, "choices": ["Deployment", "StatefulSet", "DaemonSet"]},
    "name": {"type": "str", "required": True},
}
_CONTAINER = {
    "name": {"type": "str", "required": True},
    "resources": {"type": "dict", "options": {"requests": {"type": "dict"}, "limits": {"type": "dict"}}},
}


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    targets = ("names", "label_selector", "owner")
    module = ApiModule(
        argument_spec={
            "namespace": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str"},
            "label_selector": {"type": "str"},
            "owner": {"type": "dict", "options": _OWNER},
            "containers": {"type": "list", "elements": "dict", "options": _CONTAINER},
            "template": {"type": "str", "choices": ["keep", "update", "report"], "default": "report"},
            "allow_restart": {"type": "bool", "default": False},
            "max_unavailable": {"type": "str", "default": "1"},
            **change_options(),
            "on_error": {"type": "str", "choices": ["rollback", "continue", "stop"], "default": "rollback"},
        },
        mutually_exclusive=[targets],
        required_one_of=[targets],
        required_if=[("state", "present", ("containers",))],
    )
    steps = PodResizeSteps(module.params, connect=lambda: connect(module), diff=module._diff)
    runner.run_steps(module, steps, rehearse=True)


if __name__ == "__main__":
    main()
