# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""From a module's options to a C(Client), with the code and the names of kubernetes.core."""

from __future__ import annotations

import typing as t

from .._plan.common.errors import KubeadmError
from .client import PATIENCE, Client

try:
    import kubernetes
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s import client as core
except ImportError:
    kubernetes = core = None  # ApiModule names what is missing

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # kubernetes brings it


def connect(module: t.Any) -> Client:
    """A client for the options of a module, or else what the environment and kubeconfig say.

    module: an AnsibleModule with kubernetes.core's options, and C(concurrency).
    """
    try:
        configuration = core._create_configuration(core._create_auth_spec(module))
        _open_files(configuration)
    # The loader takes a kubeconfig apart as it finds it, and not every file that is named so is one.
    except (
        kubernetes.config.ConfigException,
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        yaml.YAMLError,
    ) as exc:
        raise KubeadmError(
            f"there are no usable credentials for the Kubernetes API: {str(exc).rstrip('.')}. Set kubeconfig to a file on the"
            " host where this task runs, or host with api_key or with client_cert and client_key, or the variables K8S_AUTH_*."
        ) from exc
    if not configuration.verify_ssl and module.params.get("validate_certs") is None:
        module.warn(
            f"the certificate of {configuration.host} is not checked: the environment or the kubeconfig says so."
        )
    configuration.connection_pool_maxsize = module.params["concurrency"]
    extra = core._create_headers(module)
    pool = kubernetes.client.ApiClient(configuration).rest_client.pool_manager
    patience = module.params["wait_timeout"] if module.params.get("wait") else PATIENCE
    return Client(configuration.host, pool, lambda: {**extra, **_credentials(configuration)}, patience=patience)


def _open_files(configuration: t.Any) -> None:
    """Raise OSError for a certificate or key that cannot be read: at a request it would pass for a server that hangs up."""
    for path in filter(None, (configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert)):
        with open(path, "rb"):
            pass


def _credentials(configuration: t.Any) -> dict[str, str]:
    """The headers that say who asks. Client certificates are the pool's."""
    settings = configuration.auth_settings().values()
    return {setting["key"]: setting["value"] for setting in settings if setting["in"] == "header" and setting["value"]}
