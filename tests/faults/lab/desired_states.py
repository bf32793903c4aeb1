# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of an API server, good ones and bad ones, as options of the module ``static_pod``."""

from __future__ import annotations

import json
import typing as t

Json = dict[str, t.Any]

DIRECTORY = "/etc/kubernetes/faults"
POLICY = f"{DIRECTORY}/audit.yaml"
ENCRYPTION = f"{DIRECTORY}/encryption.yaml"

# Nodes of the labs stop their pods after 3 seconds, so these are long enough.
BRISK: Json = {"wait_timeout": 120, "min_ready_seconds": 5}


def with_file(flag: str, path: str, content: t.Any) -> Json:
    """A flag that names a file, with the file and the volume that it needs."""
    volume = {"name": "faults", "host_path": DIRECTORY, "mount_path": DIRECTORY, "path_type": "DirectoryOrCreate"}
    return {"args": {flag: path}, "volumes": [volume], "files": [{"path": path, "content": content}]}


def content(desired: Json) -> str:
    """The text of a desired state's file. A mapping is written as JSON, which is YAML as well."""
    text = desired["files"][0]["content"]
    return text if isinstance(text, str) else json.dumps(text)


# What the tables call the faults.
TITLES = {
    "good": "a good change",
    "F01": "unknown flag",
    "F02": "unknown feature gate",
    "F03": "known flag, bad value",
    "F05": "malformed file",
    "F07": "starts, never ready",
    "F16": "controller killed right after the write of what never gets ready",
}

GOOD: Json = {"args": {"v": 1}}
UNKNOWN_FLAG: Json = {"args": {"no-such-flag": "x"}}
UNKNOWN_GATE: Json = {"feature_gates": {"NoSuchGate": True}}
BAD_VALUE: Json = {"args": {"audit-log-maxage": "abc"}}
MISSING_FILE: Json = {"args": {"audit-policy-file": "/etc/kubernetes/pki/none.yaml"}}
UNMOUNTED_FILE: Json = {"args": {"audit-policy-file": "/etc/hostname"}}
MALFORMED_FILE: Json = with_file("audit-policy-file", POLICY, "rules: [unfinished\n")

# The authority of the front proxy signed no client certificate.
LOCKED_OUT: Json = {"args": {"client-ca-file": "/etc/kubernetes/pki/front-proxy-ca.crt"}}

# The API server takes every word of this, runs, is alive, and never gets ready: nothing listens where its keys should be.
_PROVIDER = {"apiVersion": "v2", "name": "missing", "endpoint": f"unix://{DIRECTORY}/missing.sock", "timeout": "2s"}
UNREADY: Json = with_file(
    "encryption-provider-config",
    ENCRYPTION,
    {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"identity": {}}, {"kms": _PROVIDER}]}],
    },
)
