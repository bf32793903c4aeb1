# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Digests of values that may be secret, which are shown and stored where others read them."""

from __future__ import annotations

import hashlib
import json
import typing as t

# A password that is the only unknown part of a value can be guessed from a plain checksum at millions of attempts a second. Every run of every
# controller has to get the same digest, so there is no key that others do not know: each attempt is made expensive instead.
_SALT = b"nodecraft.kubeadm"
_ITERATIONS = 100_000


def slow_digest(value: t.Any) -> str:
    """The same for equal values, in hexadecimal digits, after some hundredths of a second.

    value: what JSON can represent; other values count as their text.
    """
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.pbkdf2_hmac("sha256", text.encode(), _SALT, _ITERATIONS).hex()
