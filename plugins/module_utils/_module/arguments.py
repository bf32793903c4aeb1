# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Argument specs that several modules share, and how entries of an option are held to one. The doc fragment C(transaction) describes them."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

if t.TYPE_CHECKING:  # pragma: no cover
    from ansible.module_utils.basic import AnsibleModule


def transaction_options() -> dict[str, t.Any]:
    """How a change of a node is rehearsed, waited for and ended."""
    return {
        "rehearse": {"type": "bool", "default": True},
        "rollback": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
        "min_ready_seconds": {"type": "int", "default": 10},
        "confirm": {"type": "bool", "default": False},
        "confirm_timeout": {"type": "int", "default": 60},
        "confirm_url": {"type": "str"},
        "confirm_ca_cert": {"type": "path"},
        "lock_timeout": {"type": "int", "default": 0},
        "acknowledge": {"type": "bool", "default": True},
    }


def check_entries(module: AnsibleModule, option: str, spec: dict[str, t.Any]) -> None:
    """Hold every entry of an option that maps names to options to this spec, and give them their defaults."""
    validator = ArgumentSpecValidator(spec)
    for name, entry in (module.params[option] or {}).items():
        if not isinstance(entry or {}, dict):
            module.fail_json(
                msg=f"{option}: invalid entry {entry!r} of {name}: must be a mapping with {', '.join(spec)}."
            )
        result = validator.validate(entry or {})
        if result.error_messages:
            module.fail_json(msg=f"{option}: {name}: {'; '.join(result.error_messages)}")
        module.params[option][name] = result.validated_parameters
