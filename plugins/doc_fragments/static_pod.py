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
      - With V(absent) those of the named settings that this collection set go back to what they were before. Without any setting
        named, everything that this collection ever set goes back. To take away what someone else set, give it the value V(null)
        with O(state=present).
      - With V(previous) the last change of the static pod that still stands is reverted, whichever task made it. Each of its files
        gets the bytes, mode and owner that it had before, in a transaction that is rehearsed and verified like every other. No setting
        may be given with it. It is refused when a file is not what that change left. Asked again it changes nothing, and does not
        go back further.
    type: str
    choices:
      - present
      - absent
      - previous
    default: present
  purge:
    description:
      - Also take back what this collection set earlier and this task does not name. What it removed because of a V(null) is put
        back in the same way, so keep the V(null) of a repair in the task.
      - What others set is never reverted, and neither is a value of ours that someone changed since.
    type: bool
    default: false
  force:
    description:
      - Change kube-apiserver although the change could leave stored values that no API server can read, or lock out whom the cluster
        lives on, while the API server itself is healthy.
      - Refused without it, in every O(state) and with O(purge), is a change of the encryption configuration that removes a key or a
        provider which stored values need or may need, that writes with a key which is not in the present configuration, or that
        writes plain text again. Whether stored values need a key is asked of etcd, with the certificate of the API server.
      - Refused as well is authorization without C(Node) or C(RBAC) or with C(AlwaysAllow), a webhook that denies when it does not answer
        and that kubelets, administrators or kube-system can meet, and C(PodSecurity) or C(ImagePolicyWebhook) enforced in
        kube-system. What is so already and stays so is no reason.
      - Set it for one run, when all stored values were written again or none is left. What is forced is a warning.
      - Change a running member of etcd although its cluster has an alarm or a learner, another member does not answer or has not caught
        up, or the others are no majority without it. A snapshot of this member is saved on its node first and verified, see
        RV(nodecraft.kubeadm.static_pod#module:snapshot); where that fails, nothing is changed.
    type: bool
    default: false
  restore_removed:
    description:
      - Set again what this collection set and someone took out of the manifest since.
      - Without it a change that asks for such a value is refused, with the file and the time of its last change. Who took it out may have
        had a reason. Leave the value out of the task when it shall stay away.
      - What a kubeadm upgrade took is no such value. A task that names it sets it again, and RV(nodecraft.kubeadm.static_pod#module:lost) has it.
        kubeadm writes a manifest as a whole. So a manifest with another image than the one of our last change counts as written again,
        and so does one in which nothing is left of several values.
    type: bool
    default: false
  manifest_dir:
    description:
      - Directory of the manifests. By default the kubelet's own C(staticPodPath).
    type: path
"""
