# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the descriptors that the package reads from the definitions beside them.

``python generate_protocol.py``; needs the package grpcio-tools, which the plugin itself does not need.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, json_format
from grpc_tools import protoc

DIRECTORY = Path(__file__).parent / "src" / "nodecraft_device_plugin" / "protocol"


def descriptor_of(name: str) -> str:
    """The descriptor of one definition as JSON text."""
    with tempfile.TemporaryDirectory() as directory:
        compiled = Path(directory, "set")
        status = protoc.main(
            ["protoc", f"--proto_path={DIRECTORY}", f"--descriptor_set_out={compiled}", f"{name}.proto"]
        )
        if status != 0:
            raise RuntimeError(f"protoc refused {name}.proto")
        files = descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes())
    return json.dumps(json_format.MessageToDict(files.file[0]), indent=1) + "\n"


def main() -> None:
    """Write every descriptor."""
    for definition in sorted(DIRECTORY.glob("*.proto")):
        definition.with_suffix(".json").write_text(descriptor_of(definition.stem), encoding="utf-8")


if __name__ == "__main__":
    main()
