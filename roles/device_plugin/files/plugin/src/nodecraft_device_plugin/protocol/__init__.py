# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's device plugin API v1beta1 and pod resources API v1 as message classes.

Descriptors are data, not generated code: they work with each release of protobuf, and they are readable.
"""

from __future__ import annotations

import json
import typing as t
from importlib import resources
from types import SimpleNamespace

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory


def _messages(name: str) -> SimpleNamespace:
    """The message classes of one API by their names."""
    text = resources.files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    file = json_format.ParseDict(json.loads(text), descriptor_pb2.FileDescriptorProto())
    # A separate pool: the packages of both APIs have the short names v1 and v1beta1.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    prefix = f"{file.package}."
    classes: dict[str, t.Any] = message_factory.GetMessageClassesForFiles([file.name], pool)
    return SimpleNamespace(**{full.removeprefix(prefix): cls for full, cls in classes.items() if full.count(".") == 1})


device_plugin = _messages("deviceplugin_v1beta1")
pod_resources = _messages("podresources_v1")
