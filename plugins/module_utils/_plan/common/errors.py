# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors with a message for the user."""

from __future__ import annotations

import typing as t


class KubeadmError(Exception):
    """A condition that ends the task with a message for the user.

    The message says what was requested, what was found, on which node or file, and what to do.
    Only the glue in C(_module) turns it into a failed task. changed: whether the task had changed something by then.
    """

    changed = False


class Busy(KubeadmError):
    """Another run or an open transaction changes the node; when it is done, the same task may go on."""


class Refusal(KubeadmError):
    """The desired state was understood and declined before anything was written."""


def join_failures(failures: t.Mapping[str, str]) -> str:
    """Several failures in one message. failures: the reason of each, by the name of what failed."""
    return "; ".join(f"{name}: {failure.rstrip('.')}" for name, failure in failures.items()) + "."
