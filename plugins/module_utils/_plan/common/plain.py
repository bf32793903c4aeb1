# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values of templates as plain Python values.

From 2.19 on, ansible-core hands over containers whose items are templated when they are read one by one. What takes a shortcut to
their storage, such as the encoder of JSON, meets values that are no values yet.
"""

from __future__ import annotations

import typing as t


def to_plain(value: t.Any) -> t.Any:
    """The same value in dictionaries and lists of Python alone, each item read as a template reads it."""
    if isinstance(value, t.Mapping):
        return {key: to_plain(value[key]) for key in value}
    # Before 2.19 a vaulted text is a sequence of letters, with the decrypted text as its data.
    text = getattr(value, "data", None)
    if isinstance(text, str):
        return text
    if isinstance(value, t.Sequence) and not isinstance(value, (str, bytes)):
        return [to_plain(value[number]) for number in range(len(value))]
    return value


def is_true(value: t.Any) -> bool:
    """Whether a value is true as Ansible reads it, such as the text C(yes)."""
    return str(value).lower() in ("true", "yes", "on", "1", "t", "y")
