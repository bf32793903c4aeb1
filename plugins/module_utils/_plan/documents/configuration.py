# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Reading the configuration files of components, which may hold secrets: no message quotes them."""

from __future__ import annotations

import typing as t

from ..common.errors import Refusal

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

T = t.TypeVar("T")


def read(content: bytes, kind: str, take: t.Callable[[t.Any], T]) -> T:
    """What a function takes out of a file's YAML or JSON. Raises Refusal where it holds something else.

    kind: what the file is meant to hold, such as C(EncryptionConfiguration).
    """
    try:
        data = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError) as exc:  # its own words quote the line
        mark = getattr(exc, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise Refusal(f"it is not a single YAML document{where}") from None
    try:
        return take(data)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Refusal(f"it is not a {kind} that Kubernetes can read") from None
