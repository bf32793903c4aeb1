# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a certificate has to be is decided once: TLS contexts are built in one file, and connections that would build their own in none."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

HOME = Path("plugins/module_utils/_engine/tls.py")
# What builds a context when it is called. As a type it may stand anywhere.
BUILDERS = {"SSLContext", "create_default_context", "_create_unverified_context", "_create_stdlib_context"}
# What builds one of its own, implicitly or explicitly, unless it is given one.
CONNECTIONS = {"HTTPSConnection", "HTTPSHandler", "urlopen", "get_server_certificate"}


def uses(source: str) -> t.Iterator[str]:
    """Where a file builds a context, or has one built."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and "context" not in {keyword.arg for keyword in node.keywords}:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in BUILDERS | CONNECTIONS:
                yield f"{node.lineno}: {name}()"
        # A class may be made of it, or it may be handed on under another name.
        elif isinstance(node, ast.ClassDef | ast.Assign) and not isinstance(getattr(node, "value", None), ast.Call):
            inner = node.bases if isinstance(node, ast.ClassDef) else [node.value]
            for part in inner:
                name = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
                if name in BUILDERS | CONNECTIONS:
                    yield f"{node.lineno}: {name}"


def test_contexts_are_built_in_one_file() -> None:
    files = [path for path in project_files(ROOT) if path.suffix == ".py" and path.parts[0] == "plugins"]
    found = {path: list(uses((ROOT / path).read_text(encoding="utf-8"))) for path in files}
    assert found.pop(HOME)
    assert {str(path): lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import ssl\nssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)",
        "from ssl import SSLContext\ncontext = SSLContext()",
        "import ssl\ndef f():\n    return ssl.create_default_context()",
        "import ssl\nssl._create_unverified_context()",
        "import ssl\nmake = ssl.create_default_context",
        "import http.client\nhttp.client.HTTPSConnection('a')",
        "import http.client\nclass Connection(http.client.HTTPSConnection): pass",
        "from urllib.request import urlopen\nurlopen('https://a')",
    ],
)
def test_a_breach_is_found(source: str) -> None:
    assert list(uses(source))


@pytest.mark.parametrize(
    "source",
    [
        "import ssl\ndef f(context: ssl.SSLContext | None) -> ssl.SSLContext: ...",
        "import ssl\nwaiting: list[ssl.SSLContext] = []",
        "import ssl\nisinstance(x, ssl.SSLContext)",
        "from . import tls\ntls.client_context()",
        "import urllib.request\nurllib.request.HTTPSHandler(context=context)",
    ],
)
def test_a_type_is_no_breach(source: str) -> None:
    assert not list(uses(source))
