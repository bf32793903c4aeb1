# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings with which a component is healthy, and that open a door, close one that the cluster needs, or replace a list of defaults.

They may be what is wanted, so a change that brings one is not refused: its consequence is named before anything is written. Seen with 1.37.2, each
committed and verified: C(controllers) without C(*) and no Deployment made a pod any more; C(enableServer) off and logs and exec were gone.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import quantities

API_SERVER, CONTROLLER_MANAGER, SCHEDULER = "kube-apiserver", "kube-controller-manager", "kube-scheduler"
ETCD, KUBELET = "etcd", "kubelet"
_SHORTEST_GRACE_SECONDS = 45  # a kubelet renews its Lease every 10 s, and may be late a few times
_LOOPBACK = ("127.", "::1", "localhost")


def _is(value: str) -> t.Callable[[str], bool]:
    return lambda text: text.lower() == value.lower()


def _lists(entry: str) -> t.Callable[[str], bool]:
    return lambda text: entry in text.split(",")


def _is_shorter(limit: int) -> t.Callable[[str], bool]:
    """limit: in seconds. No time at all has a meaning of its own."""
    return lambda text: 0 < (quantities.parse_duration(text) or 0) < limit


def _is_longer(limit: int) -> t.Callable[[str], bool]:
    return lambda text: (quantities.parse_duration(text) or 0) > limit


def _is_any(_text: str) -> bool:
    return True


def _is_few(limit: int) -> t.Callable[[str], bool]:
    """limit: what is not few any more. None at all, or less, has a meaning of its own."""
    return lambda text: text.isdigit() and 0 < int(text) < limit


def _is_less(limit: int) -> t.Callable[[str], bool]:
    return lambda text: text.lstrip("-").isdigit() and int(text) < limit


def _is_smaller(limit: str) -> t.Callable[[str], bool]:
    def is_notable(text: str) -> bool:
        try:
            return quantities.parse(text) < quantities.parse(limit)
        except ValueError:  # the rehearsal refuses what is no quantity
            return False

    return is_notable


def _is_without_rsa(text: str) -> bool:
    return "_RSA_" not in text


def _is_old_tls(text: str) -> bool:
    return text in ("VersionTLS10", "VersionTLS11")


@dataclasses.dataclass(frozen=True)
class NotableSetting:
    """components: the names of those that have it. name: of the flag, or of the kubelet's field, its parts joined by dots. is_notable: by its text."""

    components: tuple[str, ...]
    name: str
    is_notable: t.Callable[[str], bool]
    consequence: str


_CONTROL_PLANE = (API_SERVER, CONTROLLER_MANAGER, SCHEDULER)
_NO_SUITE = "has no suite for an RSA key, which kubeadm makes: clients of TLS 1.2 are refused"
_ELECTED = (CONTROLLER_MANAGER, SCHEDULER)
_CONCURRENT_WORK = (
    "cron-job",
    "deployment",
    "endpoint",
    "gc",
    "horizontal-pod-autoscaler",
    "namespace",
    "rc",
    "replicaset",
    "resource-quota",
    "service-endpoint",
    "serviceaccount-token",
    "ttl-after-finished",
)
_DISABLED_PLUGINS = {
    "ServiceAccount": "makes pods without a ServiceAccount and its token",
    "NodeRestriction": "lets the credentials of a node change other nodes and their pods",
    "NamespaceLifecycle": "makes objects in namespaces that are deleted",
    "PodSecurity": "does not enforce the Pod Security Standards of namespaces",
    "ResourceQuota": "does not enforce quotas",
    "LimitRanger": "does not apply LimitRanges",
    "CertificateApproval": "lets everyone who may approve one certificate request have it signed by every signer",
    "CertificateSigning": "lets everyone who may sign one certificate request sign for every signer",
    "CertificateSubjectRestriction": "admits certificate requests for the group system:masters",
    "DefaultTolerationSeconds": "has new pods evicted as soon as their node is not ready",
    "Priority": "makes pods without the priority of their class",
    "DefaultStorageClass": "leaves claims without a class pending",
    "MutatingAdmissionWebhook": "calls no mutating webhook",
    "ValidatingAdmissionWebhook": "calls no validating webhook",
    "ValidatingAdmissionPolicy": "does not enforce admission policies, the placement guard among them",
}
_TABLE = (
    NotableSetting(
        (API_SERVER,), "authorization-mode", _lists("AlwaysAllow"), "allows every request that no other mode denies"
    ),
    NotableSetting(
        (API_SERVER,),
        "allow-privileged",
        _is("false"),
        "rejects privileged pods, such as kube-proxy's and most network plugins', once they are made again",
    ),
    NotableSetting(
        (API_SERVER,),
        "enable-admission-plugins",
        _lists("AlwaysPullImages"),
        "has every image pulled at each start of a pod, so none starts while its registry does not answer",
    ),
    *(
        NotableSetting((API_SERVER,), "disable-admission-plugins", _lists(plugin), consequence)
        for plugin, consequence in _DISABLED_PLUGINS.items()
    ),
    *(
        NotableSetting(
            (API_SERVER,),
            "enable-admission-plugins",
            _lists(plugin),
            f"rejects pods that were admitted before: {plugin}",
        )
        for plugin in ("AlwaysDeny", "LimitPodHardAntiAffinityTopology", "PodNodeSelector", "PodTolerationRestriction")
    ),
    NotableSetting(
        (API_SERVER,),
        "cors-allowed-origins",
        lambda text: ".*" in text,
        "may let web pages of any origin use the API with the credentials of a browser",
    ),
    NotableSetting(
        (API_SERVER,),
        "service-account-extend-token-expiration",
        _is("false"),
        "ends tokens after an hour also for clients that read theirs only once",
    ),
    NotableSetting(
        (API_SERVER,),
        "max-connection-bytes-per-sec",
        _is_few(100_000),
        "ends exec, cp and port-forward, which are slowed down to that",
    ),
    NotableSetting(
        (API_SERVER,),
        "enable-priority-and-fairness",
        _is("false"),
        "lets one client that sends many requests keep all others waiting",
    ),
    NotableSetting(_CONTROL_PLANE, "tls-cipher-suites", _is_without_rsa, _NO_SUITE),
    NotableSetting((KUBELET,), "tlsCipherSuites", _is_without_rsa, _NO_SUITE),
    NotableSetting(
        (API_SERVER,), "service-account-lookup", _is("false"), "accepts the tokens of ServiceAccounts that are deleted"
    ),
    NotableSetting(
        (API_SERVER,), "enable-bootstrap-token-auth", _is("false"), "lets no node join with a token of kubeadm"
    ),
    NotableSetting(
        (API_SERVER,),
        "endpoint-reconciler-type",
        _is("none"),
        "keeps its address out of the Service kubernetes, by which pods reach it",
    ),
    NotableSetting(
        (API_SERVER,),
        "etcd-compaction-interval",
        lambda text: quantities.parse_duration(text) == 0,
        "never compacts the history of etcd, which grows until its quota stops all writes",
    ),
    NotableSetting(
        (API_SERVER,),
        "event-ttl",
        _is_shorter(600),
        "deletes events before anyone can read why something failed",
    ),
    NotableSetting(
        (API_SERVER,),
        "min-request-timeout",
        _is_less(60),
        "ends every watch so soon that all clients list again and again",
    ),
    *(
        NotableSetting(
            (API_SERVER,), f"default-{condition}-toleration-seconds", _is_less(60), "has new pods evicted so soon"
        )
        for condition in ("not-ready", "unreachable")
    ),
    NotableSetting(
        (API_SERVER,),
        "service-node-port-range",
        _is_any,
        "has no place for Services whose node ports are outside of it, once they are made again",
    ),
    NotableSetting(
        (API_SERVER,),
        "service-cluster-ip-range",
        _is_any,
        "is not the network of the Services that there are, which cannot be made again before Kubernetes 1.33",
    ),
    *(
        NotableSetting(
            (API_SERVER,),
            flag,
            _is_any,
            "has aggregated APIs, such as metrics-server, refuse an API server that they do not know",
        )
        for flag in ("requestheader-allowed-names", "requestheader-client-ca-file")
    ),
    *(
        NotableSetting(
            (API_SERVER,),
            name,
            _is_few(50),
            "lets so few requests in at a time that clients of a usual cluster are refused",
        )
        for name in ("max-requests-inflight", "max-mutating-requests-inflight")
    ),
    NotableSetting(
        _ELECTED, "leader-elect", _is("false"), "acts without being elected, also while another instance does"
    ),
    *(
        NotableSetting(
            (CONTROLLER_MANAGER,), f"concurrent-{work}-syncs", _is_less(1), "does none of this work any more"
        )
        for work in _CONCURRENT_WORK
    ),
    *(
        NotableSetting(
            (CONTROLLER_MANAGER,), name, _is_longer(limit), "does not notice for so long that a node is lost"
        )
        for name, limit in (("node-monitor-period", _SHORTEST_GRACE_SECONDS), ("node-monitor-grace-period", 300))
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "enable-garbage-collector",
        _is("false"),
        "leaves what belonged to deleted objects, such as the pods of a ReplicaSet",
    ),
    NotableSetting(
        _ELECTED,
        "leader-elect-lease-duration",
        _is_longer(60),
        "leaves the cluster without this component for so long when the node that leads is lost",
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,), "allocate-node-cidrs", _is("false"), "gives no network for pods to nodes that join"
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,), "node-eviction-rate", _is("0"), "leaves pods on nodes that are lost, and makes no others"
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "terminated-pod-gc-threshold",
        _is_less(1),
        "never deletes pods that have ended, of which there are more and more",
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "cluster-signing-duration",
        _is_shorter(24 * 3600),
        "issues certificates for so short a time that a kubelet which is off for longer is lost",
    ),
    NotableSetting(_CONTROL_PLANE, "profiling", _is("true"), "serves profiles of the process at /debug/pprof"),
    NotableSetting(_CONTROL_PLANE, "tls-min-version", _is_old_tls, "accepts a version of TLS that is broken"),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "controllers",
        lambda text: "*" not in text.split(","),
        "replaces the default list: without * only these controllers run, and without the others no Deployment makes a pod",
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "controllers",
        lambda text: any(name.startswith("-") for name in text.split(",")),
        "switches the controllers behind a minus off, and nothing does their work",
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "node-monitor-grace-period",
        _is_shorter(_SHORTEST_GRACE_SECONDS),
        f"is shorter than {_SHORTEST_GRACE_SECONDS} s: a kubelet or API server that is restarted may count as lost, and its pods are evicted",
    ),
    NotableSetting(
        (KUBELET,),
        "readOnlyPort",
        lambda text: text != "0",
        "serves all pods with their specifications to everyone, without authentication",
    ),
    NotableSetting(
        (KUBELET,),
        "authentication.anonymous.enabled",
        _is("true"),
        "takes requests of everyone, for the authorization to decide",
    ),
    NotableSetting(
        (KUBELET,),
        "authorization.mode",
        _is("AlwaysAllow"),
        "lets everyone who is authenticated run commands in every pod of the node",
    ),
    NotableSetting(
        (KUBELET,),
        "authentication.webhook.enabled",
        _is("false"),
        "rejects the tokens of metrics-server, Prometheus and everyone else who has no client certificate",
    ),
    NotableSetting(
        (KUBELET,),
        "rotateCertificates",
        _is("false"),
        "does not renew its client certificate, and the node is lost when that expires",
    ),
    NotableSetting(
        (KUBELET,),
        "enableControllerAttachDetach",
        _is("false"),
        "attaches volumes by itself, which CSI drivers and the controller manager then do not do for it",
    ),
    NotableSetting(
        (KUBELET,),
        "syncFrequency",
        _is_longer(300),
        "leaves running pods without changed ConfigMaps and Secrets for so long",
    ),
    NotableSetting(
        (KUBELET,),
        "streamingConnectionIdleTimeout",
        _is_shorter(60),
        "ends logs, exec and port-forward that are silent for so long",
    ),
    NotableSetting(
        (KUBELET,),
        "serverTLSBootstrap",
        _is("true"),
        "serves nothing over TLS until someone approves the request for its certificate, each time it is renewed",
    ),
    NotableSetting((KUBELET,), "registerNode", _is("false"), "does not make its Node again once that is deleted"),
    NotableSetting(
        (KUBELET,),
        "podPidsLimit",
        _is_few(512),
        "lets so few threads run in a pod that many programs do not start, nor exec into them",
    ),
    NotableSetting(
        (KUBELET,), "cpuCFSQuota", _is("false"), "does not enforce the CPU limits of containers that are started then"
    ),
    NotableSetting(
        (KUBELET,),
        "containerLogMaxSize",
        _is_smaller("1Mi"),
        "rotates logs so soon that kubectl logs shows next to nothing, and collectors miss lines",
    ),
    NotableSetting(
        (KUBELET,),
        "resolvConf",
        lambda text: text in ("", "/dev/null"),
        "gives no name server to pods with those of the node, CoreDNS among them",
    ),
    NotableSetting(
        (ETCD,),
        "max-concurrent-streams",
        _is_few(1000),
        "may be too few for the watches of an API server, each request to which then runs into its timeout",
    ),
    NotableSetting(
        (KUBELET,),
        "imagePullCredentialsVerificationPolicy",
        _is("AlwaysVerify"),
        "starts no pod from an image that is on the node already while its registry does not answer",
    ),
    NotableSetting((KUBELET,), "clusterDNS", _is("[]"), "gives pods no name server that knows Services"),
    NotableSetting((KUBELET,), "maxPods", _is_less(1), "takes no pod at all"),
    *(
        NotableSetting(
            (KUBELET,), name, _is_less(5), "lets the kubelet report so slowly that many pods take minutes to be ready"
        )
        for name in ("kubeAPIQPS", "kubeAPIBurst")
    ),
    NotableSetting((KUBELET,), "tlsMinVersion", _is_old_tls, "accepts a version of TLS that is broken"),
    NotableSetting((KUBELET,), "enableServer", _is("false"), "ends logs, exec, port-forward and metrics of the node"),
    NotableSetting((KUBELET,), "enableDebuggingHandlers", _is("false"), "ends logs, exec and port-forward of the node"),
    NotableSetting(
        (KUBELET,),
        "address",
        lambda text: text.startswith(_LOOPBACK),
        "is not reached by the API server, so logs, exec, port-forward and metrics end",
    ),
)


def warnings(component: str, before: t.Callable[[str], t.Any], after: t.Callable[[str], t.Any]) -> list[str]:
    """What a change brings of the table. before, after: read a setting by its name; None where it is not set."""
    found = []
    for row in _TABLE:
        if component in row.components:
            text = _text(after(row.name))
            if text is not None and text != _text(before(row.name)) and row.is_notable(text):
                found.append(f"{component}: {row.name} {text} {row.consequence}")
    return found


def _text(value: t.Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
