# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a transaction does not go on by itself."""

from __future__ import annotations


class EngineError(Exception):
    """The transaction cannot go on by itself; the message is the reason."""


class ForeignEdit(EngineError):
    """A file holds bytes that are neither the former nor the new ones: a foreign edit."""


class LockBusy(EngineError):
    """Another process has the lock, and releases it in a while."""


class Damaged(EngineError):
    """A file of ours does not have the content that was written. Nothing is guessed from it."""


class OtherFormat(EngineError):
    """A file of ours was written by another version of the collection. It is neither used nor overwritten."""


class CredentialError(EngineError):
    """An address, a certificate, a key or a kubeconfig that cannot be used; the message names it and the reason."""
