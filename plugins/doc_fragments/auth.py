# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options for credentials of the Kubernetes API. They are called as in kubernetes.core, which need not be installed."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that several modules share."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig on the host where the task runs, or its content as a mapping. Several paths have a colon between them.
      - On the controller the file may be encrypted with Ansible Vault, and is looked for beside the playbook, too.
      - The variable E(K8S_AUTH_KUBECONFIG) stands for it.
    type: raw
  context:
    description: The context of the kubeconfig, for another than its current one. The variable E(K8S_AUTH_CONTEXT) stands for it.
    type: str
  host:
    description: URL of the API server. The variable E(K8S_AUTH_HOST) stands for it.
    type: str
  api_key:
    description: Bearer token. The variable E(K8S_AUTH_API_KEY) stands for it.
    type: str
  username:
    description: Name for basic authentication, as a proxy in front of the API may ask for it. The variable E(K8S_AUTH_USERNAME) stands for it.
    type: str
  password:
    description: Password for basic authentication. The variable E(K8S_AUTH_PASSWORD) stands for it.
    type: str
  validate_certs:
    description: Whether the certificate of the API server is checked. The variable E(K8S_AUTH_VERIFY_SSL) stands for it.
    type: bool
    aliases:
      - verify_ssl
  ca_cert:
    description: Path of the certificates that vouch for the API server, as PEM. The variable E(K8S_AUTH_SSL_CA_CERT) stands for it.
    type: path
    aliases:
      - ssl_ca_cert
  client_cert:
    description: Path of a client certificate, as PEM. The variable E(K8S_AUTH_CERT_FILE) stands for it.
    type: path
    aliases:
      - cert_file
  client_key:
    description: Path of the key of O(client_cert), as PEM and without a password. The variable E(K8S_AUTH_KEY_FILE) stands for it.
    type: path
    aliases:
      - key_file
  proxy:
    description:
      - URL of an HTTP proxy to the API server.
      - Without it the C(proxy-url) of the kubeconfig counts, and then the variables E(HTTPS_PROXY) and E(NO_PROXY).
      - The variable E(K8S_AUTH_PROXY) stands for it.
    type: str
  no_proxy:
    description: Hosts that are reached without the proxy, with commas between them. The variable E(K8S_AUTH_NO_PROXY) stands for it.
    type: str
  proxy_headers:
    description: Headers for the proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description: User and password for the proxy, with a colon between. The variable E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH) stands for it.
        type: str
      basic_auth:
        description: User and password, with a colon between. The variable E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH) stands for it.
        type: str
      user_agent:
        description: User agent. The variable E(K8S_AUTH_PROXY_HEADERS_USER_AGENT) stands for it.
        type: str
  persist_config:
    description:
      - Whether the tokens that an auth provider renews are written to the kubeconfig. The variable E(K8S_AUTH_PERSIST_CONFIG) stands for it.
    type: bool
  impersonate_user:
    description: The account to act for. The variable E(K8S_AUTH_IMPERSONATE_USER) stands for it.
    type: str
  impersonate_groups:
    description:
      - The groups to act for. The variable E(K8S_AUTH_IMPERSONATE_GROUPS) stands for it, with commas between them.
    type: list
    elements: str
  admin_conf:
    description:
      - Path of the kubeconfig of the cluster's own administrator on the host where the task runs. It is used when neither O(kubeconfig) nor
        O(host) is set, nor a variable that stands for one of them.
      - The default is C(/etc/kubernetes/admin.conf) where the task runs on a host of the inventory, and nothing where it runs on the controller,
        unless that is in the group C(kube_control_plane). The file is root's, so the task needs C(become=true) there.
      - The server in the file is asked first, and then the node's own API server.
    type: path
  cluster:
    description:
      - What the nodes that the task is about say of their cluster. An API that does not verify to be that of these nodes is not used.
      - The proof is a server certificate that an authority in O(cluster.ca_sha256) vouches for, or else Nodes that run on the machines in
        O(cluster.machine_ids).
    type: dict
    suboptions:
      ca_sha256:
        description: As M(nodecraft.kubeadm.kubelet_info) returns it.
        type: str
      machine_ids:
        description: The machine id of each node by its name, as M(nodecraft.kubeadm.kubelet_info) returns it.
        type: dict
"""
