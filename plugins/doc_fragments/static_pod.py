# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the modules that change or plan static pods, beside those of a transaction."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that several modules share."""

    DOCUMENTATION = r"""
options:
  state:
    description:
      - With V(present) the named settings get their values.
      - With V(absent) the named settings are reverted, as far as this collection set them. Without any setting named, everything that this
        collection ever set is reverted. To remove what something else set, use the value V(null) with O(state=present).
      - With V(previous) the last change of the static pod that is still in effect is reverted, whichever task made it. Each of its files
        gets the bytes, mode and owner that it had before, in a transaction that is rehearsed and verified like every other. No setting
        may be given with it. It is refused when a file is not as that change left it. A second run changes nothing, and does not go
        back further.
    type: str
    choices:
      - present
      - absent
      - previous
    default: present
  purge:
    description:
      - Also revert what this collection set earlier of an option that is given and that it does not name. An empty option reverts all of
        its own settings. An option that is not given is left alone.
      - What this collection removed because of a V(null) is set again in the same way, so keep the V(null) of a repair in the task.
      - What others set is never reverted, and neither is an owned value that was changed since.
    type: bool
    default: false
  force:
    description:
      - Make a change of kube-apiserver or of a member of etcd that is refused because it could lose data or lock out clients.
      - Change kube-apiserver although the change could leave stored values that no API server can read, or lock out essential clients of the
        cluster, while the API server itself is healthy.
      - Refused without it, in every O(state) and with O(purge), is a change of the encryption configuration that removes a key or a
        provider which stored values need or may need, that writes with a key which is not in the present configuration, or that
        writes plain text again. etcd is queried for stored values that need a key, with the certificate of the API server.
      - Refused as well is authorization without C(Node) or C(RBAC) or with C(AlwaysAllow), a webhook that denies when it does not answer and
        that can apply to kubelets, administrators or kube-system, and C(PodSecurity) or C(ImagePolicyWebhook) enforced in
        kube-system. A condition that exists already and stays is no
        reason.
      - Set it for one run, when all stored values were written again or none is left. Each forced change is a warning.
      - Change a running member of etcd although its cluster has an alarm or a learner, another member does not answer or has not caught
        up, or the others have no majority without it. A snapshot of this member is saved on its node first and verified, see
        RV(nodecraft.kubeadm.static_pod#module:snapshot); where that fails, nothing is changed.
    type: bool
    default: false
  restore_removed:
    description:
      - Set again what this collection set and something else has removed from the manifest since.
      - Without it a change with such a value is refused, with the file and the time of its last change, because it may have been removed for a
        reason. Remove the value from the task, too, when it shall stay removed.
      - A value that was lost in a kubeadm upgrade is no such value. A task that names it sets it again, and
        RV(nodecraft.kubeadm.static_pod#module:lost) has it. kubeadm writes a manifest as a whole. So a manifest counts as rewritten when its
        image is not that of this collection's last change, when the node joined its cluster
        later, or when all of several owned values are missing.
    type: bool
    default: false
  canary:
    description:
      - Before and after a change of etcd, kube-apiserver, kube-controller-manager or kube-scheduler, the node makes a Deployment of one pod and a Service, uses
        and deletes them. What worked before has to work after the change, or it is rolled back.
      - The requests go to the API server of this node, with the kubeconfig of its administrator.
      - With V(false) nothing is made, and the result says what was not verified.
    type: bool
    default: true
  canary_namespace:
    description:
      - Namespace of these objects. It is made where it does not exist, and stays, as its ServiceAccount C(canary) does.
    type: str
    default: nodecraft-kubeadm
  canary_image:
    description:
      - Image of the pod, which the node must have, or may pull. It has to run without arguments until it is stopped, as user 65534.
      - By default the image with which the node's runtime begins every pod.
    type: str
  manifest_dir:
    description:
      - Directory of the manifests. By default the kubelet's own C(staticPodPath).
    type: path
"""
