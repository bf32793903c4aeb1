#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_config
short_description: Manage settings in the kubeadm-config ConfigMap
description:
  - Writes settings of static pods into the ClusterConfiguration of the ConfigMap C(kube-system/kubeadm-config), from which C(kubeadm upgrade) and
    C(kubeadm join) generate manifests, so that these survive upgrades and joins. No static pod changes.
  - O(settings) is everything that this collection keeps there. What was written earlier and is no longer named is reverted to the former
    value, which the ConfigMap C(kube-system/nodecraft-kubeadm-persisted) stores. What others set stays.
  - Nothing else changes in the text. Order, comments and unknown fields stay.
  - Every node and every bootstrap token may read C(kubeadm-config). Write nothing secret there.
  - The role P(nodecraft.kubeadm.control_plane#role) uses it, after M(nodecraft.kubeadm.kubeadm_config_check) has verified the new text on every
    control plane.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML
  - kubernetes >= 24.2.0, only for a kubeconfig whose user is an exec plugin or an auth provider
notes:
  - Runs on a control plane as root, where the cluster's own C(/etc/kubernetes/admin.conf) needs no setup, or wherever there are credentials.
  - The account needs the verbs C(get), C(create), C(update) and C(delete) on C(configmaps) in C(kube-system).
  - A ClusterConfiguration of another API version than C(kubeadm.k8s.io/v1beta4) is refused.
options:
  settings:
    description:
      - By the name of a static pod, then by C(args), C(volumes), C(admission_plugins), C(feature_gates) or C(env), then by key. Each entry has its
        C(value), as M(nodecraft.kubeadm.static_pod_info) returns it, or V(null) to remove one; C(original), the value of the nodes before this
        collection, for the rollback on a control plane that joins later; and C(named), V(false) where a value of others must not be replaced.
      - The value of an argument is a list of texts, and its key has dashes between its words.
      - Admission plugins are written with those that kubeadm itself enables.
    type: dict
    required: true
  verified:
    description: The SHA-256 digests of the verified texts. Where the ConfigMap has, or would get, another text, nothing is written.
    type: dict
    suboptions:
      before:
        description: Of the present text.
        type: str
        required: true
      after:
        description: Of the new one.
        type: str
        required: true
  concurrency:
    description: How many connections to the API server are kept. One is enough.
    type: int
    default: 1
attributes:
  check_mode:
    support: full
    description: Sends the writes as a dry run.
  diff_mode:
    support: full
    description: Returns the difference of the text.
  idempotent:
    support: full
    description: A second run with the same options writes nothing.
seealso:
  - module: nodecraft.kubeadm.kubeadm_config_check
  - module: nodecraft.kubeadm.static_pod_plan
"""

EXAMPLES = r"""
- name: Keep the audit log over upgrades
  nodecraft.kubeadm.kubeadm_config:
    settings:
      kube-apiserver:
        args:
          audit-log-maxage:
            value: ["30"]
  run_once: true

- name: Revert everything that this collection has written there
  nodecraft.kubeadm.kubeadm_config:
    settings: {}
  run_once: true
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
operations:
  description: What changes.
  returned: always
  type: list
  elements: dict
  contains:
    field:
      description: The static pod; V(record) where only the record of a setting changes.
      type: str
    key:
      description: Field and key of the setting.
      type: str
    before:
      description: The former value; V(null) when there was none.
      type: raw
    after:
      description: The new value; V(null) when there is none.
      type: raw
not_persisted:
  description: Settings that are not kept in kubeadm-config because the text cannot have them without other changes, with the reason.
  returned: always
  type: dict
  sample: {}
diff:
  description: The difference of the text in kubeadm-config. Empty unless diff mode is on.
  returned: always
  type: list
  elements: dict
rehearsal:
  description: Verdict of the API server on the writes, from a dry run; in check mode only.
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
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.kubeadm_config_steps import KubeadmConfigSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    digests = {name: {"type": "str", "required": True} for name in ("before", "after")}
    module = ApiModule(
        argument_spec={
            "settings": {"type": "dict", "required": True},
            "verified": {"type": "dict", "options": digests},
            "concurrency": {"type": "int", "default": 1},
        }
    )
    steps = KubeadmConfigSteps(module.params, connect=lambda: connect(module), diff=module._diff)
    runner.run_steps(module, steps, rehearse=True)


if __name__ == "__main__":
    main()
