# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is checked for besides its components: what is read, what kubeadm reports of certificates, and what kube-proxy refuses."""

from __future__ import annotations

import base64
import json
import pwd
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_units import KubeletUnit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import upgrade_checks
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_manifests import Kubeadm
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_programs import NewPrograms
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    WARNS,
    UpgradeFindings,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import state
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import (
    AUTHORITY,
    CONFIGURATION,
    SIGNED,
    TARGET,
    UpgradeRun,
    put_programs,
    refused,
)

pytestmark = pytest.mark.usefixtures("master")  # the sandbox's source is found as in the archive of a module


def read(run: UpgradeRun) -> UpgradeFindings:
    found = UpgradeFindings()
    configuration = ClusterConfiguration.parse(f"{CONFIGURATION}certificatesDir: /pki\n")
    kubeadm = Kubeadm("/new/kubeadm", "the file", configuration, run)
    upgrade_checks.check_certificates(kubeadm, found)
    return found


def test_kubeadm_is_queried_offline() -> None:
    run = UpgradeRun()
    assert read(run) == UpgradeFindings(checks=["certificates"])
    (request,) = run.requests
    assert request["arguments"] == [
        "kubeadm",
        "certs",
        "check-expiration",
        "--config=/upgrade-check/kubeadm.yaml",
        "--output=json",
    ]
    assert request["staged"] == {"/upgrade-check/kubeadm.yaml": "dGhlIGZpbGU="}
    assert {"/etc", "/pki"} <= {mount["target"] for mount in request["mounts"]}
    assert not any(mount.get("writable") for mount in request["mounts"])


def test_expired_certificate_is_a_finding() -> None:
    run = UpgradeRun()
    expired = {**SIGNED, "residualTime": -1}
    run.expiration = json.dumps({"certificates": [expired], "certificateAuthorities": [AUTHORITY]})
    assert [each.key for each in read(run).findings] == ["apiserver"]


@pytest.mark.parametrize("output", ["error: no CA\n", "", "{}", '{"certificates": [1], "certificateAuthorities": []}'])
def test_kubeadm_without_expiration_dates_is_not_checked(output: str) -> None:
    run = UpgradeRun()
    run.expiration = output
    found = read(run)
    assert (found.findings, found.checks) == ([], [])
    (entry,) = found.not_rehearsed
    assert entry["name"] == "certificates"
    assert entry["reason"].startswith("/new/kubeadm certs check-expiration: ")


# ---- what every node is checked for --------------------------------------------------------------------------------------

MAIN = "kind: KubeletConfiguration\n"
GETSUBIDS, GROUPS = "getsubids kubelet", "getsubids -g kubelet"
RANGE = (0, "0: kubelet 65536 7208960\n", "")


class Checked:
    """A node of 1.37, and what a check finds there for an upgrade to 1.38."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = UpgradeRun()
        self.root = root
        self.manifests = root / "static-pods"
        self.main = f"{MAIN}staticPodPath: {self.manifests}\n"
        self.version = (1, 37)
        self.runtime = "unix:///run/containerd/containerd.sock"
        monkeypatch.setattr(pwd, "getpwnam", self._user)
        self.has_user = False

    def _user(self, name: str) -> str:
        if not self.has_user:
            raise KeyError(name)
        return name

    def __call__(self, name: str) -> UpgradeFindings:
        extra = f'KUBELET_EXTRA_ARGS="--root-dir={self.root}"\n'
        kubelet = state(extra, main=self.main, version=self.version)
        unit = KubeletUnit(kubelet, kubelet.layout(), 7, "w1", ClusterIdentity())
        node = upgrade_checks.Node(unit, runtime_at(self.runtime, self.run), "1.38.0", self.run)
        found = UpgradeFindings()
        found.check(name, upgrade_checks.OF_NODES[name](node))
        return found

    def put_pod(self, text: str) -> None:
        """A pod to which an earlier kubelet gave IDs."""
        (self.root / "pods" / "0a").mkdir(parents=True)
        (self.root / "pods" / "0a" / "userns").write_text(text, encoding="utf-8")


@pytest.fixture(name="worker")
def fixture_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """A node without pods and without a user kubelet."""
    return Checked(tmp_path, monkeypatch)


def ids(first: int) -> str:
    mapping = [{"hostId": first, "containerId": 0, "length": 65536}]
    return json.dumps({"uidMappings": mapping, "gidMappings": mapping})


def test_node_without_pods_has_no_id_ranges(worker: Checked) -> None:
    assert worker("user-namespaces") == UpgradeFindings(checks=["user-namespaces"])
    assert worker.run.calls == []


@pytest.mark.parametrize(("first", "broken"), [(65536, False), (4294901760, True)])
def test_id_range_of_pod_is_read_from_its_directory(worker: Checked, first: int, broken: bool) -> None:
    worker.put_pod(ids(first))
    assert [each.file for each in worker("user-namespaces").findings] == [f"{worker.root}/pods/0a/userns"] * broken


def test_ids_per_pod_are_those_of_the_kubelet(worker: Checked) -> None:
    worker.main = f"{MAIN}userNamespaces: {{idsPerPod: 131072}}\n"
    worker.put_pod(ids(65536))
    (finding,) = worker("user-namespaces").findings
    assert "not within 131072 to 4294836223" in finding.message


@pytest.mark.parametrize(
    ("printed", "files"),
    [("0: kubelet 65536 7208960", []), ("0: kubelet 65536 4294901760", ["/etc/subuid"])],
)
def test_range_of_user_kubelet_is_read_by_getsubids(worker: Checked, printed: str, files: list[str]) -> None:
    worker.has_user = True
    worker.run.results.update({GETSUBIDS: (0, f"{printed}\n", ""), GROUPS: (0, f"{printed}\n", "")})
    assert [each.file for each in worker("user-namespaces").findings] == files


def test_kubelet_takes_its_own_range_without_getsubids(worker: Checked) -> None:
    worker.has_user = True
    worker.run.results["getsubids"] = (127, "", "there is no program getsubids")
    assert worker("user-namespaces").checks == ["user-namespaces"]


@pytest.mark.parametrize(
    ("users", "groups"),
    [
        (RANGE, (0, "0: kubelet 1 65536\n", "")),
        (RANGE, (1, "", "Error fetching ranges\n")),
        ((1, "", "Error fetching ranges\n"), (1, "", "Error fetching ranges\n")),
        ((0, "0: kubelet 1 2\n1: kubelet 3 4\n", ""), (0, "0: kubelet 1 2\n1: kubelet 3 4\n", "")),
    ],
)
def test_unclear_range_of_user_kubelet_is_not_checked(
    worker: Checked, users: tuple[int, str, str], groups: tuple[int, str, str]
) -> None:
    worker.has_user = True
    worker.run.results.update({GETSUBIDS: users, GROUPS: groups})
    (entry,) = worker("user-namespaces").not_rehearsed
    assert entry["name"] == "user-namespaces"
    assert "must print one range, which is the same" in entry["reason"]


@pytest.mark.parametrize("text", ["{", "{}", '{"uidMappings": [{}]}', '{"uidMappings": 5}'])
def test_unreadable_range_of_pod_is_not_checked(worker: Checked, text: str) -> None:
    worker.put_pod(text)
    (entry,) = worker("user-namespaces").not_rehearsed
    assert "pods/0a/userns does not hold what a kubelet writes there" in entry["reason"]


def test_empty_range_of_pod_is_none(worker: Checked) -> None:
    worker.put_pod("")
    assert worker("user-namespaces").checks == ["user-namespaces"]


def test_static_pods_are_not_checked_by_a_stricter_kubelet(worker: Checked) -> None:
    assert worker("kubelet-manifests").checks == ["kubelet-manifests"]
    worker.manifests.mkdir()
    (worker.manifests / ".hidden").touch()
    assert worker("kubelet-manifests").checks == ["kubelet-manifests"]
    (worker.manifests / "proxy.yaml").touch()
    (entry,) = worker("kubelet-manifests").not_rehearsed
    assert f"none has read {worker.manifests}/proxy.yaml" in entry["reason"]
    assert entry["remedy"] == ""


def test_static_pods_of_a_url_are_not_checked(worker: Checked) -> None:
    worker.main = f"{MAIN}staticPodURL: http://x\n"
    (entry,) = worker("kubelet-manifests").not_rehearsed
    assert "none has read staticPodURL http://x" in entry["reason"]


@pytest.mark.parametrize(
    ("endpoint", "result", "is_checked"),
    [
        ("unix:///run/containerd/containerd.sock", (0, "containerd x v1.7.24 y\n", ""), True),
        ("unix:///run/containerd/containerd.sock", (127, "", "there is no program containerd"), False),
        ("unix:///run/crio/crio.sock", None, False),
    ],
)
def test_runtime_of_unknown_version_is_not_checked(
    worker: Checked, endpoint: str, result: tuple[int, str, str] | None, is_checked: bool
) -> None:
    worker.runtime = endpoint
    if result:
        worker.run.results["containerd"] = result
    found = worker("container-runtime")
    assert (found.checks == ["container-runtime"]) is is_checked
    assert [each.impact for each in found.findings] == [WARNS] * is_checked
    assert [each["name"] for each in found.not_rehearsed] == ["container-runtime"] * (not is_checked)


# ---- kube-proxy ----------------------------------------------------------------------------------------------------------

PROXY = "kind: KubeProxyConfiguration\nfeatureGates: {Gone: true, NodeSwap: true}\n"


class Proxy:
    """A control plane with the new kube-proxy, and what the rehearsal of it finds."""

    def __init__(self, programs: Path, clock: t.Callable[[], float]) -> None:
        self.run = UpgradeRun()
        self.programs = put_programs(programs, "kube-proxy")
        self.target = TARGET
        self._clock = clock

    def __call__(self, text: str | None) -> UpgradeFindings:
        found = UpgradeFindings()
        upgrade_checks.rehearse_proxy(
            text,
            ClusterConfiguration.parse(f"{CONFIGURATION}imageRepository: example.com/k8s\n"),
            NewPrograms(str(self.programs), self.target, self.run),
            runtime_at("unix:///run/containerd/containerd.sock", self.run),
            self._clock,
            found,
        )
        return found


@pytest.fixture(name="proxy")
def fixture_proxy(master: FakeNode, tmp_path: Path) -> Proxy:
    """The new kube-proxy, which accepts everything."""
    return Proxy(tmp_path / "programs", master.clock)


def test_proxy_is_rehearsed_with_its_config_map(proxy: Proxy) -> None:
    found = proxy(PROXY)
    assert [(each["component"], each["what"], each["verdict"]) for each in found.rehearsed] == [
        ("kube-proxy", "today", "accepted")
    ]
    (request,) = proxy.run.requests
    assert request["binary"] == f"{proxy.programs}/kube-proxy"
    assert request["arguments"] == ["kube-proxy", "--config=/rehearsal/kube-proxy.yaml"]
    (text,) = request["staged"].values()
    assert json.loads(base64.b64decode(text))["clientConnection"] == {"kubeconfig": "/rehearsal-ends-here"}


def test_each_gate_that_proxy_refuses_breaks(proxy: Proxy) -> None:
    proxy.run.outputs["kube-proxy"] = [
        refused("failed complete: unrecognized feature gate: Gone"),
        refused("failed complete: unrecognized feature gate: NodeSwap"),
    ]
    found = proxy(PROXY)
    assert [(each.impact, each.key, each.line) for each in found.findings] == [
        (BROKEN, "Gone", 2),
        (BROKEN, "NodeSwap", 2),
    ]


def test_proxy_without_its_program_is_not_rehearsed(proxy: Proxy, runtime: FakeCri) -> None:
    (proxy.programs / "kube-proxy").unlink()
    runtime.images = set()
    (entry,) = proxy(PROXY).not_rehearsed
    assert entry["name"] == "kube-proxy"
    assert f"nor the image example.com/k8s/kube-proxy:v{TARGET} on the node" in entry["reason"]


def test_table_names_removed_gate_of_proxy_without_program(proxy: Proxy, runtime: FakeCri) -> None:
    (proxy.programs / "kube-proxy").unlink()
    runtime.images = set()
    proxy.target = "1.38.0"
    found = proxy(PROXY)
    assert [(each.impact, each.key) for each in found.findings] == [(BROKEN, "NodeSwap")]
    assert [each["name"] for each in found.not_rehearsed] == ["kube-proxy"]


def test_unreadable_proxy_configuration_is_not_rehearsed(proxy: Proxy) -> None:
    (entry,) = proxy("a: [").not_rehearsed
    assert "it is not a single YAML document" in entry["reason"]
    (entry,) = proxy(None).not_rehearsed
    assert (entry["name"], entry["reason"]) == ("kube-proxy", "its configuration was not given")


def test_cluster_without_proxy_has_nothing_to_rehearse(proxy: Proxy) -> None:
    assert proxy("") == UpgradeFindings()
    assert proxy.run.requests == []
