# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The AnsibleModule of everything that asks the Kubernetes API, and the options that these modules share.

The doc fragments C(api) and C(nodes) describe them. The options for credentials are those of kubernetes.core.
"""

from __future__ import annotations

import importlib
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator


def _lacking(package: str) -> str | None:
    """The package that is missing to import another; mostly that one itself."""
    try:
        importlib.import_module(package)
    except ImportError as exc:
        return str(exc.name)
    return None


# All of them at once: who installs one does not want to hear of the other at the next run.
_LACKING = sorted({name for name in map(_lacking, ("jsonpatch", "kubernetes")) if name})
MISSING = missing_required_lib(" and ".join(_LACKING)) if _LACKING else ""

try:
    from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
except ImportError:
    AUTH_ARG_SPEC = {}
    MISSING = (
        "The collection kubernetes.core is missing where this task runs. Install it with ansible-galaxy collection install"
        " kubernetes.core, or with the Python package ansible."
    )


def node_options(field: str, option: dict[str, t.Any]) -> dict[str, t.Any]:
    """The options of a module that changes one kind of thing on nodes. field, option: what it is called, and its spec."""
    return {
        **selection_options(),
        field: option,
        "per_node": {"type": "dict"},
        "purge": {"type": "bool", "default": False},
        **change_options(),
    }


def change_options() -> dict[str, t.Any]:
    """How many objects are changed at once, and what of it is waited for."""
    return {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "on_error": {"type": "str", "choices": ["continue", "stop"], "default": "continue"},
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 120},
        **concurrency_option(),
    }


def selection_options() -> dict[str, t.Any]:
    """Which nodes are meant."""
    return {"nodes": {"type": "list", "elements": "str"}, "label_selector": {"type": "str"}}


def concurrency_option() -> dict[str, t.Any]:
    """How many requests are under way at a time."""
    return {"concurrency": {"type": "int", "default": 8}}


class ApiModule(AnsibleModule):
    """A module that asks the Kubernetes API, from wherever the credentials are."""

    def __init__(self, argument_spec: dict[str, t.Any], **relations: t.Any) -> None:
        """Parse the parameters and make sure that there is all that is needed; end the module otherwise."""
        super().__init__(
            argument_spec={**AUTH_ARG_SPEC, **argument_spec},
            supports_check_mode=True,
            **relations,
        )
        if MISSING:
            self.fail_json(MISSING)
        if self.params["concurrency"] < 1:
            self.fail_json(msg=f"concurrency is {self.params['concurrency']}; it has to be 1 or more.")

    def fail_json(self, msg: str, **result: t.Any) -> t.NoReturn:
        """End the module with an error. Without kubernetes.core its options look like mistakes: then tell the true one."""
        super().fail_json(msg=MISSING or msg, **result)

    def check_per_node(self, field: str, option: dict[str, t.Any]) -> None:
        """Hold every entry of C(per_node) to the spec of the module's own option."""
        validator = ArgumentSpecValidator({field: option})
        for name, entry in (self.params["per_node"] or {}).items():
            if not isinstance(entry or {}, dict):
                self.fail_json(msg=f"per_node: the entry of {name} is {entry!r}; write a mapping with {field}.")
            result = validator.validate(entry or {})
            if result.error_messages:
                self.fail_json(msg=f"per_node: {name}: {'; '.join(result.error_messages)}")
            self.params["per_node"][name] = result.validated_parameters
