# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Digests by which a run compares values of hosts without revealing them.

Results of tasks are displayed and logged, and a short secret can be guessed from a mere checksum. So a digest needs a key that no one knows outside
of the run.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import tempfile
import typing as t

from ansible import constants

_NAME = "nodecraft_kubeadm_key"
_LENGTH = 32  # bytes, as many as the digest has


def digest(value: t.Any) -> str:
    """The digest of a plain value. Every process of the run makes the same."""
    # The same for all processes, which Ansible forks. It makes its constants when it is imported, so that they have no type.
    directory = t.cast(t.Any, constants).DEFAULT_LOCAL_TMP
    text = json.dumps(value, sort_keys=True, default=str)
    return hmac.new(read_or_create_key(directory), text.encode(), "sha256").hexdigest()


def read_or_create_key(directory: str) -> bytes:
    """Read the key of a run, or create it. directory: of the run, for its user alone, which Ansible removes at its end."""
    path = os.path.join(directory, _NAME)
    if not os.path.exists(path):
        descriptor, draft = tempfile.mkstemp(dir=directory)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_LENGTH))
        # Whole or not at all, and the first one counts: all hosts begin at once.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        os.unlink(draft)
    with open(path, "rb") as file:
        return file.read()
