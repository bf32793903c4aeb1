# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The AnsibleModule of everything that uses the Kubernetes API, and the options that these modules share.

The doc fragments C(api) and C(nodes) describe them. The options for credentials are those of kubernetes.core.
"""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils.secrets import register_secrets  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # ansible-core before 2.22, where a module masks what is in its no_log_values
    register_secrets = None

from .arguments import check_entries
from .pyyaml import require_yaml

# Named as in kubernetes.core, which need not be installed.
AUTH_ARG_SPEC: dict[str, t.Any] = {
    "kubeconfig": {"type": "raw"},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
    "client_cert": {"type": "path", "aliases": ["cert_file"]},
    "client_key": {"type": "path", "aliases": ["key_file"], "no_log": False},
    "proxy": {"type": "str"},
    "no_proxy": {"type": "str"},
    "proxy_headers": {
        "type": "dict",
        "options": {
            "proxy_basic_auth": {"type": "str", "no_log": True},
            "basic_auth": {"type": "str", "no_log": True},
            "user_agent": {"type": "str"},
        },
    },
    "persist_config": {"type": "bool"},
    "impersonate_user": {"type": "str"},
    "impersonate_groups": {"type": "list", "elements": "str"},
}
_OWN_ARG_SPEC: dict[str, t.Any] = {
    "admin_conf": {"type": "path"},
    "cluster": {
        "type": "dict",
        "options": {"ca_sha256": {"type": "str"}, "machine_ids": {"type": "dict"}},
    },
}


_HIDDEN = "the content is not shown"
# The secret keys of a kubeconfig's content.
_SECRET = {"token", "password", "client-key-data", "id-token", "access-token", "refresh-token", "client-secret"}


def secrets_of(kubeconfig: t.Any) -> set[str]:
    """The secret texts of a kubeconfig's content; a path holds none."""
    if isinstance(kubeconfig, dict):
        own = {value for key, value in kubeconfig.items() if key in _SECRET and isinstance(value, str) and value}
        return own.union(*map(secrets_of, kubeconfig.values()))
    return set().union(*map(secrets_of, kubeconfig)) if isinstance(kubeconfig, list) else set()


class ServerClient(t.Protocol):
    """The client of a module. server: the address of the API server that responded, if any."""

    server: str


def node_options(field: str, option: dict[str, t.Any]) -> dict[str, t.Any]:
    """The options of a module that changes one kind of thing on nodes. field, option: the name of its option, and the spec of that."""
    return {
        **selection_options(),
        field: option,
        "per_node": {"type": "dict"},
        "purge": {"type": "bool", "default": False},
        **change_options(),
    }


def change_options() -> dict[str, t.Any]:
    """How many objects are changed at once, and whether the effect is waited for."""
    return {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "on_error": {"type": "str", "choices": ["continue", "stop"], "default": "continue"},
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 120},
        **concurrency_option(),
    }


def selection_options() -> dict[str, t.Any]:
    """Which nodes are selected."""
    return {"nodes": {"type": "list", "elements": "str"}, "label_selector": {"type": "str"}}


def concurrency_option() -> dict[str, t.Any]:
    """How many requests are under way at a time."""
    # Seen with one API server on two cores: 182 nodes written in a second one at a time, 660 to 720 with eight.
    return {"concurrency": {"type": "int", "default": 8}}


class ApiModule(AnsibleModule):
    """A module that uses the Kubernetes API, from wherever the credentials are.

    client: set with the first connection.
    """

    def __init__(self, argument_spec: dict[str, t.Any], **relations: t.Any) -> None:
        """Parse the parameters, and check them and what the module needs; end the module otherwise."""
        self.client: ServerClient | None = None
        super().__init__(
            argument_spec={**AUTH_ARG_SPEC, **_OWN_ARG_SPEC, **argument_spec},
            supports_check_mode=True,
            **relations,
        )
        require_yaml(self)
        if self.params["concurrency"] < 1:
            self.fail_json(msg=f"invalid concurrency {self.params['concurrency']}: must be at least 1.")

    def _log_invocation(self) -> None:
        """The content of a kubeconfig in the task itself is not logged, and what of it is known to be secret is masked everywhere."""
        found = secrets_of(self.params["kubeconfig"])
        self.no_log_values.update(found)
        if register_secrets:
            register_secrets(found)
        original, self.params = self.params, self._loggable_params()
        super()._log_invocation()
        self.params = original

    def _return_formatted(self, kwargs: dict[str, t.Any]) -> None:
        """Add to every result which API server was used, also to that of a task that failed."""
        server = (self.client.server if self.client else "") or None
        invocation = {"module_args": self._loggable_params()}
        super()._return_formatted(
            {"invocation": invocation, **kwargs, "api": {"host": os.uname().nodename, "server": server}}
        )

    def _loggable_params(self) -> dict[str, t.Any]:
        """The parameters without the content of a kubeconfig: environment and arguments of its programs may be secret, too."""
        params: dict[str, t.Any] = self.params
        return {**params, "kubeconfig": _HIDDEN} if isinstance(params.get("kubeconfig"), dict) else params

    def check_per_node(self, field: str, option: dict[str, t.Any]) -> None:
        """Validate every entry of C(per_node) by the spec of the module's own option."""
        check_entries(self, "per_node", {field: option})
