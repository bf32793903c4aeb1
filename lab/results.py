# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task gave, as each ansible-core hands it to callbacks."""

from __future__ import annotations

import typing as t


def content_of(result: t.Any) -> dict[str, t.Any]:
    """The result of a task on one host, or of one item of its loop."""
    # Up to ansible-core 2.18 it is private.
    content: dict[str, t.Any] = getattr(result, "result", None) or result._result
    return content
