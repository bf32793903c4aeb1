# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the contexts and pairs do that no connection shows; test_tls_users.py has the connections."""

from __future__ import annotations

import ssl
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import tls
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import CredentialError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair

LOAD = """
import sys
sys.path.insert(0, sys.argv[1])
from _engine import tls
try:
    tls.client_context(pair=tls.read_pair(sys.argv[2], sys.argv[3]))
except tls.CredentialError as exc:
    print("refused:", exc)
"""


@pytest.fixture(name="pair", scope="module")
def fixture_pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Authority(tmp_path_factory.mktemp("tls") / "authority").issue()


def test_pair_is_used_where_memory_is_no_file(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.memfd_create")
    tls.client_context(pair=tls.Pair(*pair))
    with pytest.raises(CredentialError, match="not a readable PEM file"):
        tls.client_context(pair=tls.Pair(pair.certificate, b""))


def test_weak_key_is_called_weak(tmp_path: Path) -> None:
    weak = Authority(tmp_path / "weak", key=("rsa:512",)).issue()
    with pytest.raises(CredentialError, match=r"too weak for the OpenSSL of this machine \(.*KEY_TOO_SMALL\)"):
        tls.client_context(pair=tls.Pair(*weak))


def test_contexts_take_no_protocol_that_go_has_retired() -> None:
    for context in (tls.client_context(), tls.client_context(verify=False), tls.server_context()):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_empty_file_of_an_authority_is_not_that_of_the_system() -> None:
    for make in (tls.client_context, tls.server_context):
        with pytest.raises(CredentialError, match="the authority's file holds no certificate"):
            t.cast("t.Any", make)(b"")


def test_password_of_a_key_is_not_requested_at_a_terminal(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "me.crt").write_bytes(pair.certificate)
    encrypt = ["openssl", "pkcs8", "-topk8", "-passout", "pass:secret", "-out", str(tmp_path / "me.key")]
    subprocess.run(encrypt, input=pair.key, check=True)
    code = Path(tls.__file__).parents[1]
    command = [sys.executable, "-c", LOAD, str(code), str(tmp_path / "me.crt"), str(tmp_path / "me.key")]
    # A terminal of its own, at which nothing is typed.
    terminal = [sys.executable, "-c", f"import pty; pty.spawn({command!r})"]
    done = subprocess.run(terminal, stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True, timeout=60)
    assert done.stdout.startswith("refused: the key has a password")
