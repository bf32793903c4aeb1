# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a component's own words mean. The messages are those of Kubernetes 1.28 to 1.36."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import verdict as verdicts
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import rehearsal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.rehearsal import MISSING_FILE

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")

KLOG = 'E1121 11:02:03.456789       1 run.go:72] "command failed" err="{}"\n'
STARTUP = (
    "I1121 11:02:03.100000       1 options.go:221] external host was not specified, using 10.0.0.11\n"
    "W1121 11:02:03.200000       1 feature_gate.go:354] Setting GA feature gate AAA=true. It will be removed in a future release.\n"
    'I1121 11:02:03.300000       1 server.go:146] "Golang settings" GOGC="" GOMAXPROCS="" GOTRACEBACK=""\n'
)
USAGE = "Usage:\n  kube-apiserver [flags]\n\nGeneric flags:\n\n      --cors-allowed-origins strings  List of allowed origins\n"
ENDS = {
    "kube-apiserver": f"initializing audit webhook: stat {MISSING_FILE}: no such file or directory",
    "kube-controller-manager": f"open {MISSING_FILE}: no such file or directory",
    "kube-scheduler": f"open {MISSING_FILE}: no such file or directory",
}

ACCEPTED = {
    "text logging": STARTUP + KLOG.format("END"),
    "JSON logging": (
        '{"ts":1763722923000.1,"caller":"app/server.go:146","msg":"Version","v":0,"kubeVersion":"v1.34.4"}\n'
        '{"ts":1763722923000.2,"caller":"cli/run.go:72","msg":"command failed","err":"END"}\n'
    ),
    "plain error": "Error: END\n",
}

REFUSED = {
    "unknown gate": (KLOG.format("unrecognized feature gate: NoSuchGate"), "unrecognized feature gate: NoSuchGate"),
    "unknown gate up to 1.30": (
        'Error: invalid argument "NoSuchGate=true" for "--feature-gates" flag: unrecognized feature gate: NoSuchGate\n'
        + USAGE,
        'invalid argument "NoSuchGate=true" for "--feature-gates" flag: unrecognized feature gate: NoSuchGate',
    ),
    "locked gate": (
        STARTUP + KLOG.format("cannot set feature gate DevicePlugins to false, feature is locked to true"),
        "cannot set feature gate DevicePlugins to false, feature is locked to true",
    ),
    "gate of a later version": (
        KLOG.format("cannot set feature gate X to true, feature is PreAlpha at emulated version 1.34"),
        "cannot set feature gate X to true, feature is PreAlpha at emulated version 1.34",
    ),
    "gate that needs another": (
        KLOG.format("X is enabled, but depends on features that are disabled: [Y]"),
        "X is enabled, but depends on features that are disabled: [Y]",
    ),
    "unknown plugin": (
        KLOG.format('enable-admission-plugins plugin \\"NoSuchPlugin\\" is unknown'),
        'enable-admission-plugins plugin "NoSuchPlugin" is unknown',
    ),
    "several errors": (
        KLOG.format('[--etcd-servers must be specified, enable-admission-plugins plugin \\"X\\" is unknown]'),
        '[--etcd-servers must be specified, enable-admission-plugins plugin "X" is unknown]',
    ),
    "error over several lines": (KLOG.format("one\\ntwo"), "one; two"),
    "unknown flag": (
        "Error: unknown flag: --no-such-flag\n" + USAGE + "\nunknown flag: --no-such-flag\n",
        "unknown flag: --no-such-flag",
    ),
    "bad value": (
        'Error: invalid argument "abc" for "--audit-log-maxage" flag: strconv.ParseInt: parsing "abc": invalid syntax\n'
        + USAGE,
        'invalid argument "abc" for "--audit-log-maxage" flag: strconv.ParseInt: parsing "abc": invalid syntax',
    ),
    "JSON logging": (
        '{"ts":1.5,"caller":"server.go:1","msg":"Version","err":""}\n'
        '{"ts":1.6,"caller":"cli/run.go:72","msg":"command failed","err":"unrecognized feature gate: NoSuchGate"}\n',
        "unrecognized feature gate: NoSuchGate",
    ),
    "JSON logging, broken line": (
        '{"ts":1.5, broken\n{"msg":"command failed","err":"unknown"}\n{"msg":"bye"}\n',
        "unknown",
    ),
    "panic": (
        "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n",
        "panic: runtime error: index out of range",
    ),
    "file that is not there": (
        STARTUP + KLOG.format("open /etc/kubernetes/audit.yaml: no such file or directory"),
        "open /etc/kubernetes/audit.yaml: no such file or directory",
    ),
    "backslash in a message": (KLOG.format("open C:\\\\x"), "open C:\\x"),
}


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("output", ACCEPTED.values(), ids=ACCEPTED)
def test_ending_at_the_missing_file_is_acceptance(component: str, output: str) -> None:
    verdict = rehearsal.parse_verdict(component, 1, output.replace("END", ENDS[component]))
    assert verdict.verdict == verdicts.ACCEPTED
    assert component in verdict.message


@pytest.mark.parametrize(("output", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_carries_the_components_own_words(output: str, message: str) -> None:
    verdict = rehearsal.parse_verdict("kube-apiserver", 1, output)
    assert verdict.verdict == verdicts.REFUSED
    assert verdict.message == message


@pytest.mark.parametrize("status", [124, 137, -9])
def test_running_into_the_time_limit_is_no_acceptance(status: int) -> None:
    verdict = rehearsal.parse_verdict("kube-scheduler", status, STARTUP)
    assert verdict.verdict == verdicts.REFUSED
    assert f"still running after {rehearsal.TIME_LIMIT} s" in verdict.message


@pytest.mark.parametrize("status", [0, 1, 2, 139])
def test_an_end_without_a_known_message_is_a_refusal_with_the_last_lines(status: int) -> None:
    verdict = rehearsal.parse_verdict("kube-scheduler", status, "one\n\ntwo\nthree\nfour\n")
    assert verdict.verdict == verdicts.REFUSED
    assert f"status {status}" in verdict.message
    assert verdict.message.endswith("two | three | four")


def test_an_end_without_a_word_is_a_refusal() -> None:
    assert "(no output)" in rehearsal.parse_verdict("kube-scheduler", 0, "\n").message


KUBELET_ENDS = KLOG.format(f"invalid kubeconfig: stat {rehearsal.MISSING_KUBECONFIG}: no such file or directory")
WARNED = {  # seen of 1.32.2 and 1.37.2
    "gate": (
        "W1128 10:49:38.182851    6953 feature_gate.go:354] Setting GA feature gate A=true. It will be removed in a future release.",
        "Setting GA feature gate A=true. It will be removed in a future release.",
    ),
    "gate as a structure": (
        'I1128 10:49:35.011626    6627 feature_gate.go:362] "Warning: setting GA feature gate. It will be removed in a future release."'
        ' featureGate="A" value=true',
        'setting GA feature gate. It will be removed in a future release. featureGate="A" value=true',
    ),
    "gate as JSON": (
        '{"ts":1795863035090.8,"caller":"featuregate/feature_gate.go:362","msg":"Warning: setting deprecated feature gate.","v":0,'
        '"featureGate":"A","value":true}',
        'setting deprecated feature gate. featureGate="A" value=true',
    ),
    "flag": (
        "Flag --pod-infra-container-image has been deprecated, will be removed in 1.35.",
        "Flag --pod-infra-container-image has been deprecated, will be removed in 1.35.",
    ),
    "field": (
        'I1128 10:50:34.657292    9729 codec.go:102] "Using lenient decoding as strict decoding failed" err=<\n'
        '\tstrict decoding error: yaml: unmarshal errors:\n\t  line 5: key "maxPods" already set in map, unknown field "nosuch"\n >',
        'strict decoding error: yaml: unmarshal errors: line 5: key "maxPods" already set in map, unknown field "nosuch"',
    ),
}


@pytest.mark.parametrize(("output", "message"), WARNED.values(), ids=WARNED)
def test_what_is_reported_of_an_accepted_change_is_kept_once(output: str, message: str) -> None:
    verdict = rehearsal.parse_verdict("kubelet", 1, f"{output}\n{output}\n{KUBELET_ENDS}")
    assert verdict.verdict == verdicts.ACCEPTED
    assert verdict.warnings == (f"kubelet says: {message}",)


@pytest.mark.parametrize(
    "line",
    [
        "I1128 10:49:39.916127    7497 options.go:238] external host was not specified, using 192.0.2.2",
        "W1128 10:49:39.551062    7497 registry.go:256] calling componentGlobalsRegistry.AddFlags more than once",
        'I1128 10:50:34.659565    9729 server.go:257] "Effective KubeletConfiguration" config=<\n\tignored: deprecated\n >',
        '{"ts":1,"caller":"cli/run.go:72","msg":"command failed","err":"deprecated"}',
        "{ no JSON, deprecated",
    ],
)
def test_what_warns_of_nothing_is_not_reported(line: str) -> None:
    assert rehearsal.parse_verdict("kubelet", 1, f"{line}\n{KUBELET_ENDS}").warnings == ()


def test_a_revert_that_is_refused_names_itself_and_the_way_out() -> None:
    operations = [Change("args", "no-such-flag", None, ["1"]), Change("args", "v", ["2"], ["4"])]
    refused = verdicts.Verdict(verdicts.REFUSED, "unknown flag: --no-such-flag")
    message = rehearsal.name_reverts(refused, operations, {"args": {"v": ["4"]}}).message
    assert message.startswith(
        "unknown flag: --no-such-flag. Of this change, args no-such-flag is a revert to what was there"
    )
    assert "null for one that was removed" in message
    both = {"args": {"v": ["4"], "no-such-flag": None}}
    assert rehearsal.name_reverts(refused, operations, both) is refused
    accepted = verdicts.Verdict(verdicts.ACCEPTED, "yes")
    assert rehearsal.name_reverts(accepted, operations, {}) is accepted


def test_an_acceptance_is_not_read_out_of_another_file_that_is_missing() -> None:
    output = KLOG.format(f"open /etc{MISSING_FILE}.bak: no such file or directory")
    assert rehearsal.parse_verdict("kube-scheduler", 1, output).verdict == verdicts.REFUSED


def test_an_earlier_point_of_the_api_server_is_no_acceptance() -> None:
    """Its serving certificate is read before the configuration of authentication and encryption."""
    assert rehearsal.parse_verdict("kube-apiserver", 1, KLOG.format(ENDS["kube-scheduler"])).verdict == verdicts.REFUSED


CERTIFICATE = [f"--tls-cert-file={MISSING_FILE}", f"--tls-private-key-file={MISSING_FILE}"]
WEBHOOK = [f"--audit-webhook-config-file={MISSING_FILE}"]
POLICY = [f"--audit-policy-file={rehearsal.AUDIT_POLICY}"]
ADDRESS = ["--advertise-address=192.0.2.1"]
COMMANDS: list[tuple[str, list[str], list[str]]] = [
    ("kube-apiserver", [], WEBHOOK + POLICY + ADDRESS),
    ("kube-apiserver", ["--advertise_address=10.0.0.1"], WEBHOOK + POLICY),
    ("kube-apiserver", ["--advertise-address=10.0.0.1", "--audit-policy-file=/p"], WEBHOOK),
    ("kube-apiserver", ["--audit-log-path=/var/log/a"], [*WEBHOOK, *POLICY, "--audit-log-path=-", *ADDRESS]),
    ("kube-apiserver", ["--audit-log-path=-"], WEBHOOK + POLICY + ADDRESS),
    ("kube-apiserver", ["--bind-address=::"], [*WEBHOOK, *POLICY, *ADDRESS, "--bind-address=0.0.0.0"]),
    ("kube-scheduler", [], CERTIFICATE),
    ("kube-scheduler", ["--tls-cert-file=/real.crt"], CERTIFICATE),
    ("kube-scheduler", ["--secure-port=0"], [*CERTIFICATE, "--secure-port=10259"]),
    ("kube-controller-manager", ["--secure-port", "0"], [*CERTIFICATE, "--secure-port=10257"]),
    ("kube-controller-manager", ["--secure-port=0", "--secure-port=10257"], CERTIFICATE),
    ("kube-scheduler", ["--bind-address=::1"], [*CERTIFICATE, "--bind-address=0.0.0.0"]),
    ("kube-scheduler", ["--bind-address=0.0.0.0"], CERTIFICATE),
]


@pytest.mark.parametrize(("component", "arguments", "extra"), COMMANDS)
def test_the_command_is_the_new_one_and_behind_it_what_must_differ(
    component: str, arguments: list[str], extra: list[str]
) -> None:
    assert rehearsal.build_command(component, [component, *arguments]) == [component, *arguments, *extra]


def test_an_argument_that_only_the_kubelet_knows_cannot_be_rehearsed() -> None:
    assert "valueFrom" in str(rehearsal.find_blocker("kube-scheduler", ["kube-scheduler", None], "kube-scheduler"))


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_three_components_can_be_rehearsed(component: str) -> None:
    assert rehearsal.find_blocker(component, [component], component) is None
    assert rehearsal.mounts_volumes(component)


def test_of_etcd_nothing_but_the_flags_is_rehearsed() -> None:
    assert rehearsal.find_blocker("etcd", ["etcd"], "etcd") is None
    assert not rehearsal.mounts_volumes("etcd")
    assert rehearsal.build_command("etcd", ["etcd", "--v=1"]) == ["etcd", "--v=1", "--version"]
    assert rehearsal.parse_verdict("etcd", 0, "etcd Version: 3.6.5\nGit SHA: x\n").verdict == verdicts.ACCEPTED


@pytest.mark.parametrize(
    "words",
    [
        "flag provided but not defined: -bogus",
        'invalid value "X=true" for flag -feature-gates: unrecognized feature gate: X',
        'invalid boolean value "maybe" for -auto-tls: parse error',
    ],
)
def test_etcds_words_are_reported(words: str) -> None:
    verdict = rehearsal.parse_verdict("etcd", 2, f"{words}\nUsage:\n\n  etcd [flags]\n    Start an etcd server.\n")
    assert (verdict.verdict, verdict.message) == (verdicts.REFUSED, words)


@pytest.mark.parametrize(
    ("component", "arguments", "reason"),
    [
        ("haproxy", [], "haproxy is not a component"),
        ("kube-apiserver", ["--service-account-signing-endpoint=@sign"], "--service-account-signing-endpoint"),
    ],
)
def test_what_cannot_be_rehearsed_is_skipped_with_the_reason(component: str, arguments: list[str], reason: str) -> None:
    assert reason in str(rehearsal.find_blocker(component, [component, *arguments], component))


def test_what_only_the_image_knows_cannot_be_rehearsed() -> None:
    assert "no command" in str(rehearsal.find_blocker("kube-apiserver", ["--v=4"], None))
