# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates that a component's arguments name: whether it can start with them, and its peers will trust them."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.kubeconfig import read_cluster
from ..._plan.common.errors import KubeadmError
from ..._plan.static_pod import leader_election
from . import static_pods
from .certificate_pairs import NotVerified, pair_problem, time_problem, trust_problem
from .component_files import ComponentFiles, hosts_of_urls


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong with something that a component needs. is_new: the change itself introduces it."""

    message: str
    is_new: bool


@dataclasses.dataclass(frozen=True)
class Usage:
    """A pair that arguments name.

    is_server, is_client: whether the component presents it as a server, as a client, or as both.
    ca_flag: of the file that others verify it with. url_flags: those with the addresses by which it is reached.
    """

    cert_flag: str
    key_flag: str
    is_server: bool = False
    is_client: bool = False
    ca_flag: str | None = None
    url_flags: tuple[str, ...] = ()


_ROOT = "root-ca-file"
_SERVING = Usage("tls-cert-file", "tls-private-key-file", is_server=True)
_USES: dict[str, tuple[Usage, ...]] = {
    "kube-apiserver": (
        # Counts where the administrator's kubeconfig names no authority: kubeadm signs this pair with the clients' one.
        dataclasses.replace(_SERVING, ca_flag="client-ca-file"),
        # Which authority etcd and the kubelets verify these with is written in no argument of the API server.
        Usage("etcd-certfile", "etcd-keyfile", is_client=True),
        Usage("kubelet-client-certificate", "kubelet-client-key", is_client=True),
        Usage(
            "proxy-client-cert-file", "proxy-client-key-file", is_client=True, ca_flag="requestheader-client-ca-file"
        ),
    ),
    "kube-controller-manager": (
        _SERVING,
        # What it signs is for clients of the API server, whose authority kubeadm names to it as well.
        Usage("cluster-signing-cert-file", "cluster-signing-key-file", is_client=True, ca_flag="client-ca-file"),
    ),
    "kube-scheduler": (_SERVING,),
    "etcd": (
        Usage(
            "cert-file",
            "key-file",
            is_server=True,
            ca_flag="trusted-ca-file",
            url_flags=("advertise-client-urls", "listen-client-urls"),
        ),
        Usage(
            "peer-cert-file",
            "peer-key-file",
            is_server=True,
            is_client=True,
            ca_flag="peer-trusted-ca-file",
            url_flags=("initial-advertise-peer-urls",),
        ),
    ),
}


def findings(
    name: str,
    files: ComponentFiles,
    former: ComponentFiles,
    *,
    address: str | None,
    kubeconfig: str,
    unverified: list[str],
) -> list[Finding]:
    """What is wrong with the certificates that the new arguments of a component name. former: the files without the change.

    What the change introduces must be valid in all respects. What is in use already must be readable, match its key and be in
    its validity period: who trusts it, and by which names, cannot be read here.
    address: of the component where no argument names it. kubeconfig: of the node's administrator, which holds
    the authority that the API server's clients trust. unverified: gets what could not be verified.
    """
    found = []
    for use in _USES.get(name, ()):
        cert_path, key_path = files.flag(use.cert_flag), files.flag(use.key_flag)
        if cert_path and key_path:
            is_new = any(files.is_new(flag, former) for flag in (use.cert_flag, use.key_flag))
            claims: list[str] = []
            problem = _certificate_problem(
                name, use, files, cert_path, key_path, claims, is_new=is_new, address=address, kubeconfig=kubeconfig
            )
            unverified += [f"whether the certificate --{use.cert_flag}={cert_path} is {claim}" for claim in claims]
            if problem:
                found.append(Finding(f"--{use.cert_flag}={cert_path} on {os.uname().nodename}: {problem}", is_new))
    return found


def root_findings(
    pod: static_pods.StaticPod, files: ComponentFiles, former: ComponentFiles, unverified: list[str]
) -> list[Finding]:
    """Whether the authority that the controller manager gives to every pod is not that of the API server. files, former, unverified: as above."""
    path = files.flag(_ROOT)
    if pod.name != leader_election.CONTROLLER_MANAGER or not path or not files.is_new(_ROOT, former):
        return []
    try:
        manifest, _others = static_pods.find_manifest(static_pods.API_SERVER, os.path.dirname(pod.path))
        server = ComponentFiles(static_pods.parse_static_pod(static_pods.API_SERVER, manifest, "").manifest)
        certificate, key = (server.read(server.flag(flag) or "") for flag in (_SERVING.cert_flag, _SERVING.key_flag))
        problem = trust_problem(certificate, key, files.read(path), names=[None], is_client=False)
    except KubeadmError as exc:
        unverified.append(f"whether pods would trust the API server with --{_ROOT}={path}: {exc}")
        return []
    message = f"--{_ROOT}={path} on {os.uname().nodename}: no pod would trust the API server any more: {problem}"
    return [Finding(message, is_new=True)] if problem else []


def _certificate_problem(
    name: str,
    use: Usage,
    files: ComponentFiles,
    cert_path: str,
    key_path: str,
    unverified: list[str],
    *,
    is_new: bool,
    address: str | None,
    kubeconfig: str,
) -> str | None:
    """unverified: gets the claims that could not be verified, each with the reason. A claim: what follows "the certificate is"."""
    try:
        pair = files.read(cert_path), files.read(key_path)
        # The time is the same in both roles: one of them is enough, that of the server where the pair has both.
        as_client = use.is_client and not use.is_server
        problem = pair_problem(*pair) or _run_check("in its time", unverified, time_problem, *pair, as_client=as_client)
        if problem or not is_new or not use.ca_flag:
            return problem
        authority = _read_authority(name, use, files, kubeconfig)
        if authority is None:
            unverified.append("trusted by its peers: no file tells which authority they trust")
            return None
        names: list[str | None] = []
        if use.is_server:
            urls = [url for flag in use.url_flags for url in files.flags(flag)]
            names += hosts_of_urls(urls) if use.url_flags else [address]
            if not any(names):
                names = [None]  # any will do
                unverified.append("valid for the address by which it is reached: no argument tells it")
        return _run_check(
            "trusted by its peers", unverified, trust_problem, *pair, authority, names=names, is_client=use.is_client
        )
    except KubeadmError as exc:
        return f"{exc}. Create it, or name another one."


def _run_check(
    claim: str, unverified: list[str], check: t.Callable[..., str | None], *args: t.Any, **options: t.Any
) -> str | None:
    """The problem that a check finds. claim: what it verifies, as above; added to unverified where the check cannot be made."""
    try:
        return check(*args, **options)
    except NotVerified as exc:
        unverified.append(f"{claim}: {exc}")
        return None


def _read_authority(name: str, use: Usage, files: ComponentFiles, kubeconfig: str) -> bytes | None:
    """The certificates that others verify a pair with; None when they are not known."""
    known = read_cluster(kubeconfig).authority if name == "kube-apiserver" and use.is_server else b""
    path = files.flag(use.ca_flag) if use.ca_flag else None
    return known or (files.read(path) if path else None)
