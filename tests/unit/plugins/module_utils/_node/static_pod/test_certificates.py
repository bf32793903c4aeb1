# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates: real ones, and what is wrong with each."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import (
    certificate_pairs,
    certificates,
    static_pods,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.component_files import ComponentFiles
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import authority as pki
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig

ADDRESS = "10.0.0.11"
TLS = {"apiserver.crt": "tls-cert-file", "apiserver.key": "tls-private-key-file"}


@pytest.fixture(name="good", scope="module")
def fixture_good(authority: Authority) -> Pair:
    return authority.issue(names=f"IP:{ADDRESS},DNS:cp1")


@pytest.fixture(name="expired", scope="module")
def fixture_expired(authority: Authority) -> Pair:
    return authority.issue(names=f"IP:{ADDRESS}", first=-20, last=-10)


@pytest.fixture(name="other", scope="module")
def fixture_other(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("other") / "authority")


# ---- one pair --------------------------------------------------------------------------------------------------------


def test_a_good_pair_has_no_problem(authority: Authority, good: Pair) -> None:
    assert certificate_pairs.pair_problem(*good) is None
    assert certificate_pairs.time_problem(*good, as_client=False) is None
    assert certificate_pairs.time_problem(*good, as_client=True) is None
    assert certificate_pairs.trust_problem(*good, authority.certificate, names=[ADDRESS, "cp1"], is_client=True) is None


def test_a_key_of_another_certificate_is_found(good: Pair, expired: Pair) -> None:
    assert "does not match its key" in str(certificate_pairs.pair_problem(good.certificate, expired.key))


@pytest.mark.parametrize(
    "content", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_is_no_pem_is_found(good: Pair, content: bytes) -> None:
    assert "not a readable PEM" in str(certificate_pairs.pair_problem(content, good.key))
    assert "not a readable PEM" in str(certificate_pairs.pair_problem(good.certificate, content))


def test_a_certificate_out_of_its_time_is_found(authority: Authority, expired: Pair) -> None:
    assert "has expired" in str(certificate_pairs.time_problem(*expired, as_client=False))
    assert "not valid yet" in str(certificate_pairs.time_problem(*authority.issue(first=5, last=10), as_client=False))


@pytest.mark.parametrize(("usage", "as_client"), [(pki.CLIENT, True), (pki.SERVER, False)])
def test_time_is_verified_on_the_showing_side(authority: Authority, usage: str, as_client: bool) -> None:
    current, expired = authority.issue(usage=usage), authority.issue(usage=usage, first=-20, last=-10)
    assert certificate_pairs.time_problem(*current, as_client=as_client) is None
    assert "has expired" in str(certificate_pairs.time_problem(*expired, as_client=as_client))


@pytest.mark.parametrize("last", [-10, 365])
def test_other_use_leaves_time_unknown(authority: Authority, last: int) -> None:
    pair = authority.issue(usage=pki.CLIENT, first=-20, last=last)
    with pytest.raises(certificate_pairs.NotVerified, match="before it looks at that"):
        certificate_pairs.time_problem(*pair, as_client=False)


def test_failed_handshake_leaves_pair_unknown(tmp_path: Path) -> None:
    other = Authority(tmp_path / "p-224", key=("ec", "-pkeyopt", "ec_paramgen_curve:P-224"))
    pair = other.issue()
    assert certificate_pairs.pair_problem(*pair) is None
    with pytest.raises(certificate_pairs.NotVerified, match="no handshake with it"):
        certificate_pairs.time_problem(*pair, as_client=True)
    with pytest.raises(certificate_pairs.NotVerified, match="no handshake with it"):
        certificate_pairs.trust_problem(*pair, other.certificate, names=[], is_client=True)


def test_another_authority_reports_nothing_of_the_time(other: Authority, good: Pair, expired: Pair) -> None:
    bundle = other.certificate + good.certificate
    assert "has expired" in str(
        certificate_pairs.time_problem(expired.certificate + bundle, expired.key, as_client=False)
    )


@pytest.mark.parametrize("name", ["10.0.0.12", "cp2", "2001:db8::1"])
def test_another_name_is_found(authority: Authority, good: Pair, name: str) -> None:
    problem = certificate_pairs.trust_problem(*good, authority.certificate, names=[ADDRESS, name], is_client=False)
    assert f"is not valid for {name}" in str(problem)


def test_another_authority_is_found(other: Authority, good: Pair) -> None:
    for names, is_client in ([ADDRESS], False), ([], True):
        assert "is not trusted" in str(
            certificate_pairs.trust_problem(*good, other.certificate, names=names, is_client=is_client)
        )


@pytest.mark.parametrize(("usage", "names", "is_client"), [(pki.CLIENT, [ADDRESS], False), (pki.SERVER, [], True)])
def test_a_certificate_for_another_use_is_found(
    authority: Authority, usage: str, names: list[str], is_client: bool
) -> None:
    pair = authority.issue(names=f"IP:{ADDRESS}", usage=usage)
    assert "is not trusted" in str(
        certificate_pairs.trust_problem(*pair, authority.certificate, names=names, is_client=is_client)
    )


def test_an_authority_that_is_no_certificate_is_named(good: Pair) -> None:
    with pytest.raises(KubeadmError, match="holds no certificate"):
        certificate_pairs.trust_problem(*good, b"nothing", names=[ADDRESS], is_client=False)


# ---- what a component's arguments name -------------------------------------------------------------------------------


class Node:
    """A directory that an API server mounts, and the files in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.unverified: list[str] = []
        self.kubeconfig = str(directory / "admin.conf")

    def write(self, **pairs: Pair) -> None:
        for name, pair in pairs.items():
            (self.directory / f"{name}.crt").write_bytes(pair.certificate)
            (self.directory / f"{name}.key").write_bytes(pair.key)

    def write_kubeconfig(self, authority: Authority) -> None:
        data = base64.b64encode(authority.certificate).decode("ascii")
        text = kubeconfig("https://a:6443", f"certificate-authority-data: {data}")
        Path(self.kubeconfig).write_text(text, encoding="ascii")

    def findings(
        self, *arguments: str, files: t.Sequence[dict[str, t.Any]] = (), **args: t.Any
    ) -> list[certificates.Finding]:
        """What is found when an API server with these arguments gets others."""
        text = samples.with_command(f"--advertise-address={ADDRESS}", *arguments).replace(
            "/etc/kubernetes/pki", str(self.directory)
        )
        state = static_pod.State(samples.manifest(text), {}, {entry["path"]: None for entry in files})
        plan = static_pod.plan(samples.desired(args=args or {"v": 4}, files=files), state)
        self.unverified = []
        return certificates.findings(
            "kube-apiserver",
            ComponentFiles.planned(plan),
            ComponentFiles(plan.before),
            address=ADDRESS,
            kubeconfig=self.kubeconfig,
            unverified=self.unverified,
        )

    def serving(self, name: str) -> dict[str, t.Any]:
        return {"tls-cert-file": f"{self.directory}/{name}.crt", "tls-private-key-file": f"{self.directory}/{name}.key"}

    def given(self, name: str) -> list[str]:
        return [f"--{flag}={path}" for flag, path in self.serving(name).items()]


@pytest.fixture(name="node")
def fixture_node(tmp_path: Path, authority: Authority, good: Pair, expired: Pair) -> Node:
    node = Node(tmp_path)
    node.write(good=good, expired=expired)
    node.write_kubeconfig(authority)
    return node


def test_good_certificates_are_no_finding(node: Node) -> None:
    assert node.findings() == []
    assert node.findings(*node.given("good")) == []
    assert node.findings(**node.serving("good")) == []
    assert node.unverified == []
    assert node.findings(*node.given("expired"), **node.serving("good")) == []  # the repair


def test_an_expired_certificate_is_a_finding_wherever_it_is_from(node: Node) -> None:
    (new,) = node.findings(**node.serving("expired"))
    (used,) = node.findings(*node.given("expired"))
    assert "has expired" in new.message
    assert new.message == used.message
    assert f"--tls-cert-file={node.directory}/expired.crt on " in used.message
    assert (new.is_new, used.is_new) == (True, False)


def test_a_name_is_queried_of_what_the_change_brings_only(node: Node, authority: Authority) -> None:
    node.write(elsewhere=authority.issue(names="DNS:elsewhere"))
    (found,) = node.findings(**node.serving("elsewhere"))
    assert f"is not valid for {ADDRESS}" in found.message
    assert node.findings(*node.given("elsewhere")) == []


def test_the_authority_of_the_callers_counts(node: Node, other: Authority) -> None:
    node.write(foreign=other.issue(names=f"IP:{ADDRESS}"))
    (found,) = node.findings(**node.serving("foreign"))
    assert "is not trusted" in found.message
    node.write_kubeconfig(other)
    assert node.findings(**node.serving("foreign")) == []
    Path(node.kubeconfig).unlink()
    (node.directory / "ca.crt").write_bytes(other.certificate)
    assert node.findings(f"--client-ca-file={node.directory}/ca.crt", **node.serving("foreign")) == []
    assert node.findings(f"--client-ca-file={node.directory}/none.crt", **node.serving("foreign"))
    assert node.findings(**node.serving("foreign")) == []  # it is unknown whom the callers trust
    assert node.unverified == [
        f"whether the certificate --tls-cert-file={node.directory}/foreign.crt is trusted by its peers: no file tells which"
        " authority they trust"
    ]


def test_a_key_that_is_changed_alone_is_brought(node: Node) -> None:
    key: dict[str, t.Any] = {"tls-private-key-file": f"{node.directory}/expired.key"}
    (found,) = node.findings(*node.given("good"), **key)
    assert (found.is_new, "does not match" in found.message) == (True, True)


def test_a_missing_file_is_named(node: Node) -> None:
    (found,) = node.findings(*node.given("none"))
    assert f"{node.directory}/none.crt does not exist" in found.message
    (found,) = node.findings("--tls-cert-file=/elsewhere/a.crt", "--tls-private-key-file=/elsewhere/a.key")
    assert "no volume is mounted over /elsewhere/a.crt" in found.message


def test_certificates_for_calling_are_observed_too(node: Node, other: Authority) -> None:
    flags = "kubelet-client-certificate", "kubelet-client-key"
    given: dict[str, t.Any] = {flag: f"{node.directory}/expired.{end}" for flag, end in zip(flags, ("crt", "key"))}
    (found,) = node.findings(**given)
    assert "--kubelet-client-certificate" in found.message
    node.write(foreign=other.issue(usage=pki.CLIENT))
    (node.directory / "ca.crt").write_bytes(other.certificate)
    caller: dict[str, t.Any] = {
        "proxy-client-cert-file": f"{node.directory}/foreign.crt",
        "proxy-client-key-file": f"{node.directory}/foreign.key",
    }
    assert node.findings(f"--requestheader-client-ca-file={node.directory}/ca.crt", **caller) == []
    (node.directory / "ca.crt").write_bytes((node.directory / "good.crt").read_bytes())
    (found,) = node.findings(f"--requestheader-client-ca-file={node.directory}/ca.crt", **caller)
    assert "is not trusted" in found.message


@pytest.mark.parametrize("name", ["etcd", "kubelet-client"])
def test_expired_client_certificate_is_found(node: Node, authority: Authority, name: str) -> None:
    flags = {
        "etcd": ("etcd-certfile", "etcd-keyfile"),
        "kubelet-client": ("kubelet-client-certificate", "kubelet-client-key"),
    }[name]
    given = [f"--{flag}={node.directory}/caller.{end}" for flag, end in zip(flags, ("crt", "key"))]
    node.write(caller=authority.issue(usage=pki.CLIENT))
    assert (node.findings(*given), node.unverified) == ([], [])
    node.write(caller=authority.issue(usage=pki.CLIENT, first=-20, last=-10))
    (found,) = node.findings(*given)
    assert ("has expired" in found.message, found.is_new, node.unverified) == (True, False, [])


def test_unknown_time_is_reported(node: Node, authority: Authority) -> None:
    node.write(caller=authority.issue(usage=pki.CLIENT))
    assert node.findings(*node.given("caller")) == []
    (limit,) = node.unverified
    assert limit.startswith(f"whether the certificate --tls-cert-file={node.directory}/caller.crt is in its time: ")


def test_an_etcd_is_reached_where_it_listens_and_where_it_reports(
    tmp_path: Path, authority: Authority, other: Authority, good: Pair
) -> None:
    node = Node(tmp_path)
    node.write(good=good, full=authority.issue(names=f"IP:{ADDRESS},IP:127.0.0.1"))
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    urls = "--listen-client-urls=https://127.0.0.1:2379,https://0.0.0.0:2379"
    text = samples.etcd(urls, f"--advertise-client-urls=https://{ADDRESS}:2379", pki=str(tmp_path), pair="former")
    unverified: list[str] = []

    def findings(pair: str) -> list[certificates.Finding]:
        args = {"cert-file": f"{tmp_path}/{pair}.crt", "key-file": f"{tmp_path}/{pair}.key"}
        state = static_pod.State(samples.manifest(text, "etcd"), {}, {})
        plan = static_pod.plan(samples.desired(name="etcd", args=args), state)
        files = ComponentFiles.planned(plan), ComponentFiles(plan.before)
        return certificates.findings("etcd", *files, address=None, kubeconfig="/none", unverified=unverified)

    assert findings("full") == []
    (found,) = findings("good")
    assert "is not valid for 127.0.0.1" in found.message
    assert unverified == []
    text = samples.etcd("--listen-client-urls=https://0.0.0.0:2379", pki=str(tmp_path), pair="former")
    (tmp_path / "ca.crt").write_bytes(other.certificate)
    (found,) = findings("good")
    assert "is not trusted" in found.message
    assert [each.partition(" is ")[2] for each in unverified] == [
        "valid for the address by which it is reached: no argument tells it"
    ]


def test_files_of_the_same_change_are_observed_before_they_are_written(node: Node, good: Pair, expired: Pair) -> None:
    def files(pair: Pair) -> list[dict[str, t.Any]]:
        parts = zip(("crt", "key"), pair)
        return [samples.file(f"{node.directory}/staged.{end}", content.decode()) for end, content in parts]

    assert node.findings(files=files(good), **node.serving("staged")) == []
    (found,) = node.findings(files=files(expired), **node.serving("staged"))
    assert found.is_new
    assert not (node.directory / "staged.crt").exists()


@pytest.mark.parametrize("is_known", [True, False])
def test_a_signer_is_an_authority_of_the_clients(authority: Authority, other: Authority, is_known: bool) -> None:
    signer = other if is_known else authority
    pair = Pair(signer.certificate, (signer.directory / "authority.key").read_bytes())
    problem = certificate_pairs.trust_problem(*pair, other.certificate, names=[], is_client=True)
    assert (problem is None) is is_known
    (use,) = [each for each in certificates._USES["kube-controller-manager"] if each.is_client]
    assert (use.cert_flag, use.ca_flag) == ("cluster-signing-cert-file", "client-ca-file")


@pytest.mark.parametrize(("signer", "is_trusted"), [("own", True), ("other", False), ("missing", None)])
def test_pods_trust_the_api_server_by_the_authority_that_they_get(
    tmp_path: Path, authority: Authority, other: Authority, good: Pair, signer: str, is_trusted: bool | None
) -> None:
    contents = {"apiserver.crt": good.certificate, "apiserver.key": good.key}
    contents |= {"own.crt": authority.certificate, "other.crt": other.certificate}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    mount = {name: f"--{flag}={tmp_path}/{name}" for name, flag in TLS.items() if is_trusted is not None}
    server = samples.with_command(*mount.values()).replace("/etc/kubernetes/pki", str(tmp_path))
    (tmp_path / "kube-apiserver.yaml").write_text(server, encoding="utf-8")
    manager = samples.with_command(f"--root-ca-file={tmp_path}/{signer}.crt").replace(
        "/etc/kubernetes/pki", str(tmp_path)
    )
    path = tmp_path / "kube-controller-manager.yaml"
    path.write_text(manager.replace("kube-apiserver", "kube-controller-manager"), encoding="utf-8")
    pod = static_pods.parse_static_pod("kube-controller-manager", str(path), "cp1")
    files, former = ComponentFiles(pod.manifest), ComponentFiles(samples.manifest(samples.API_SERVER))
    unverified: list[str] = []
    found = certificates.root_findings(pod, files, former, unverified)
    assert [each.is_new for each in found] == [True] * (is_trusted is False)
    assert all(
        "no pod would trust the API server any more: the certificate is not trusted" in each.message for each in found
    )
    assert [each.partition("=")[0] for each in unverified] == (
        ["whether pods would trust the API server with --root-ca-file"] if is_trusted is None else []
    )
