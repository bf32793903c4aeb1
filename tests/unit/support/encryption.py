# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Encryption configurations, written as short as possible."""

from __future__ import annotations

import base64
import json
import typing as t

SECRETS = {"k1": "the first key, not to be shown", "k2": "another key, just as secret as k1"}


def material(name: str) -> str:
    """A key's secret as a configuration has it."""
    return base64.b64encode(SECRETS.get(name, name * 16).encode()).decode()


def config(*keys: str, resources: t.Sequence[str] = ("secrets",)) -> str:
    """A configuration with these keys in their order: C(identity), or names of keys of aescbc; C(k1=x) has the secret of x."""
    return json.dumps(document((resources, keys)))


def document(*entries: tuple[t.Sequence[str], t.Sequence[str]]) -> dict[str, t.Any]:
    """The same with several entries, each resources and keys."""
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [
            {"resources": list(resources), "providers": [_provider(key) for key in keys]} for resources, keys in entries
        ],
    }


def _provider(key: str) -> dict[str, t.Any]:
    if key == "identity":
        return {"identity": {}}
    name, dummy, secret = key.partition("=")
    return {"aescbc": {"keys": [{"name": name, "secret": material(secret or name)}]}}
