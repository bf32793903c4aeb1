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
      - On the controller the file may be encrypted with Ansible Vault, and is also searched beside the playbook.
      - The environment variable E(K8S_AUTH_KUBECONFIG) sets it, too.
    type: raw
  context:
    description: The context of the kubeconfig, if not its current one. The variable E(K8S_AUTH_CONTEXT) sets it, too.
    type: str
  host:
    description: URL of the API server. The variable E(K8S_AUTH_HOST) sets it, too.
    type: str
  api_key:
    description: Bearer token. The variable E(K8S_AUTH_API_KEY) sets it, too.
    type: str
  username:
    description: Name for basic authentication, as a proxy in front of the API may require it. The variable E(K8S_AUTH_USERNAME) sets it, too.
    type: str
  password:
    description: Password for basic authentication. The variable E(K8S_AUTH_PASSWORD) sets it, too.
    type: str
  validate_certs:
    description: Whether the certificate of the API server is verified. The variable E(K8S_AUTH_VERIFY_SSL) sets it, too.
    type: bool
    aliases:
      - verify_ssl
  ca_cert:
    description: Path of the CA certificates for the API server, as PEM. The variable E(K8S_AUTH_SSL_CA_CERT) sets it, too.
    type: path
    aliases:
      - ssl_ca_cert
  client_cert:
    description: Path of a client certificate, as PEM. The variable E(K8S_AUTH_CERT_FILE) sets it, too.
    type: path
    aliases:
      - cert_file
  client_key:
    description: Path of the key of O(client_cert), as PEM and without a password. The variable E(K8S_AUTH_KEY_FILE) sets it, too.
    type: path
    aliases:
      - key_file
  proxy:
    description:
      - URL of an HTTP proxy to the API server.
      - Without it the C(proxy-url) of the kubeconfig is used, otherwise the variables E(HTTPS_PROXY) and E(NO_PROXY).
      - The variable E(K8S_AUTH_PROXY) sets it, too.
    type: str
  no_proxy:
    description: Hosts that are reached without the proxy, separated by commas. The variable E(K8S_AUTH_NO_PROXY) sets it, too.
    type: str
  proxy_headers:
    description: Headers for the proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description: User and password for the proxy, with a colon between. The variable E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH) sets it, too.
        type: str
      basic_auth:
        description: User and password, with a colon between. The variable E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH) sets it, too.
        type: str
      user_agent:
        description: User agent. The variable E(K8S_AUTH_PROXY_HEADERS_USER_AGENT) sets it, too.
        type: str
  persist_config:
    description:
      - Whether the tokens that an auth provider renews are written to the kubeconfig. The variable E(K8S_AUTH_PERSIST_CONFIG) sets it, too.
    type: bool
  impersonate_user:
    description: The account to act for. The variable E(K8S_AUTH_IMPERSONATE_USER) sets it, too.
    type: str
  impersonate_groups:
    description:
      - The groups to act for. The variable E(K8S_AUTH_IMPERSONATE_GROUPS) sets them, with commas between them.
    type: list
    elements: str
  admin_conf:
    description:
      - Path of the kubeconfig of the cluster's own administrator on the host where the task runs. It is used when neither O(kubeconfig) nor
        O(host) nor an environment variable for one of them is set.
      - The default is C(/etc/kubernetes/admin.conf) where the task runs on a host of the inventory, and nothing where it runs on the controller,
        unless that is in the group C(kube_control_plane). The file belongs to root, so the task needs C(become=true) there.
      - The server in the file is tried first, and then the node's own API server.
    type: path
  cluster:
    description:
      - Identity of the cluster to which the nodes of the task belong. An API that cannot be verified to be that of these nodes is not used.
      - The verification needs a server certificate that an authority in O(cluster.ca_sha256) signed, or Nodes that run on the machines in
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
