# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rehearsal of a component: which command to run, and what its output means.

The component's own binary is started with the exact new command line and one argument more, a file that does not exist.
It is one that Kubernetes' components open late, after flags, feature gates, admission plugins and most files were
checked: so they stop there when all is well, and earlier, with their own message, when it is not. etcd has no such file,
and must never open its data a second time: it is run with --version, which it prints once it has parsed its flags.
See docs/rehearsal.md.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..common.ownership import Change, Values
from ..common.verdict import ACCEPTED, REFUSED, Verdict
from ..kubernetes import flags

MISSING_FILE = "/rehearsal-ends-here"  # the file that does not exist
DIRECTORY = "/rehearsal"  # where the sandbox has FILES
AUDIT_POLICY = f"{DIRECTORY}/audit-policy.yaml"
FILES = {AUDIT_POLICY: "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n"}
MISSING_KUBECONFIG = "/proc/nonexistent/kubeconfig"  # the same for a kubelet
SCRATCH = "/rehearsal-scratch"  # where a rehearsed kubelet may write, in the sandbox
TIME_LIMIT = 20  # seconds; a component that still runs then was not stopped by the missing certificate (seen: in 0.5)


_DEFAULT_PORTS = {"kube-apiserver": "6443", "kube-controller-manager": "10257", "kube-scheduler": "10259"}
# kube-apiserver sets up its audit webhook after it has read the serving certificate, the audit policy, and the
# configuration of authentication, encryption and tracing; the other two have nothing that late but the certificate.
_ACCEPT_POINTS = {
    "kube-apiserver": f"initializing audit webhook: stat {MISSING_FILE}: no such file or directory",
    "kube-controller-manager": f"open {MISSING_FILE}: no such file or directory",
    "kube-scheduler": f"open {MISSING_FILE}: no such file or directory",
    "kubelet": f"stat {MISSING_KUBECONFIG}: no such file or directory",
    "etcd": "etcd Version: ",
}
# Without them a rehearsed kubelet could become a second one on its node (tried: it took the live device plugin socket).
_KUBELET_OVERRIDES = (
    "--bootstrap-kubeconfig=",
    f"--kubeconfig={MISSING_KUBECONFIG}",
    "--lock-file=",
    "--exit-on-lock-contention=false",
    f"--cert-dir={SCRATCH}",
    f"--root-dir={SCRATCH}",
)
_QUOTED_ERROR = re.compile(r'err="((?:[^"\\]|\\.)*)"')
# pflag prints the whole usage behind an error; kube-apiserver's is 60 kB.
_PLAIN_ERROR = re.compile(
    r"^(?:Error: |error: |panic: |unknown flag: |invalid argument |flag provided but not defined: |invalid (?:boolean )?value )",
    re.MULTILINE,
)


# Messages about something that a component accepts. klog writes a warning as W or, where it has fields, as I with a prefix;
# its JSON has no severity. pflag writes no header.
_WARNS = re.compile(r"deprecat|GA feature gate|will be removed|ignor|no effect", re.IGNORECASE)
_WARNING = "Warning: "
_KLOG_HEADER = re.compile(r"(?P<severity>[IWE])\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] ")
_DEPRECATED_FLAG = re.compile(r"Flag --\S+ has been deprecated, ")
_LOG_FIELDS = ("ts", "caller", "msg", "v", "logger")
_STRICT_ERROR = re.compile(
    r"(?:^\t(strict decoding error: [^\n]*(?:\n\t[^\n]*)*)|strict decoding error: [^\n]*)", re.MULTILINE
)


def find_blocker(component: str, arguments: t.Sequence[str | None], program: str | None) -> str | None:
    """Why a component's start cannot be rehearsed; None when it can. An argument of None is one only the kubelet knows.
    program: what the manifest names to be started."""
    if component not in (*_DEFAULT_PORTS, "etcd"):
        return f"{component} is not a component whose start is known to stop at a missing file"
    if program is None:
        return "its manifest has no command, so only its image knows what is started"
    if None in arguments:
        return "an argument is made from a value that only the kubelet knows (valueFrom)"
    if flags.last_value([each for each in arguments if each is not None], "service-account-signing-endpoint"):
        return "--service-account-signing-endpoint is contacted at start, which a rehearsal without network cannot do"
    return None


def build_command(component: str, arguments: t.Sequence[str]) -> list[str]:
    """The command line of the rehearsal: the new one, and behind it what must differ. Of a flag given twice the last counts."""
    if component == "etcd":
        return [*arguments, "--version"]
    overrides = (
        _api_server_overrides(arguments) if component == "kube-apiserver" else _other_overrides(component, arguments)
    )
    if flags.last_value(arguments, "bind-address", "0.0.0.0") != "0.0.0.0":  # noqa: S104  # compared, not bound
        overrides.append("--bind-address=0.0.0.0")  # the sandbox's network has no other address
    return [*arguments, *overrides]


def _api_server_overrides(arguments: t.Sequence[str]) -> list[str]:
    overrides = [f"--audit-webhook-config-file={MISSING_FILE}"]
    if flags.last_value(arguments, "audit-policy-file") is None:  # without a policy the webhook is not set up
        overrides.append(f"--audit-policy-file={AUDIT_POLICY}")
    if flags.last_value(arguments, "audit-log-path", "-") != "-":  # the sandbox is read-only
        overrides.append("--audit-log-path=-")
    if flags.last_value(arguments, "advertise-address") is None:
        overrides.append("--advertise-address=192.0.2.1")  # the sandbox has no default route to choose one from
    return overrides


def _other_overrides(component: str, arguments: t.Sequence[str]) -> list[str]:
    overrides = [f"--tls-cert-file={MISSING_FILE}", f"--tls-private-key-file={MISSING_FILE}"]
    # Without a serving port there is no certificate: it would run until the limit.
    if flags.last_value(arguments, "secure-port") == "0":
        overrides.append(f"--secure-port={_DEFAULT_PORTS[component]}")
    return overrides


def mounts_volumes(component: str) -> bool:
    """Whether the rehearsed component may see its volumes. etcd would take its ports and open the live database for writing
    (tried), and needs no file to parse its flags."""
    return component != "etcd"


def build_kubelet_command(arguments: t.Sequence[str]) -> list[str]:
    """The command line of a kubelet's rehearsal: the new one, and behind it what makes it harmless."""
    return [*arguments, *_KUBELET_OVERRIDES]


def strict_errors(output: str) -> list[str]:
    """What a kubelet passed over in its configuration, such as fields that it does not know."""
    return list(dict.fromkeys(re.findall(r"strict decoding error: [^\n]*", output)))


def has_loaded_configuration(output: str) -> bool:
    """Whether a kubelet came past the reading of its configuration: to the end of a rehearsal, or to an error of another kind."""
    message = error_message(output) or ""
    return _ACCEPT_POINTS["kubelet"] in output or (bool(message) and "failed to load" not in message)


def unquote(message: str) -> str:
    """A message that was cut out of a quoted one: up to the closing quote, without escapes."""
    inner = re.match(r'(?:[^"\\]|\\.)*', message)
    return inner.group().replace('\\"', '"') if inner else message


def parse_verdict(component: str, returncode: int, output: str) -> Verdict:
    """The verdict by the component's output. C(returncode) is the process's; C(output) standard output and error together."""
    if _ACCEPT_POINTS[component] in output:
        notices = tuple(f"{component} says: {text}" for text in warnings(output))
        return Verdict(ACCEPTED, f"{component} accepts its new command line", warnings=notices)
    message = error_message(output)
    if message:
        return Verdict(REFUSED, message)
    if returncode in (124, 137, -9):  # timeout(1) ended it, or itself
        return Verdict(
            REFUSED,
            f"{component} was still running after {TIME_LIMIT} s: the rehearsal does not know this command line",
        )
    return Verdict(REFUSED, f"{component} ended with status {returncode} and no known message: {_last_lines(output)}")


def name_reverts(verdict: Verdict, operations: t.Iterable[Change], desired: Values) -> Verdict:
    """The verdict, which where it is a refusal names what of the change is a revert, and the remedy. desired: what the task names."""
    reverts = [f"{each.field} {each.key}" for each in operations if each.key not in desired.get(each.field, {})]
    if verdict.verdict != REFUSED or not reverts:
        return verdict
    message = (
        f"{verdict.message.rstrip('.')}. Of this change, {', '.join(reverts)} is a revert to what was there before this collection: it is not"
        " named any more. Name it again to keep it as it is, null for one that was removed."
    )
    return dataclasses.replace(verdict, message=message)


def warnings(output: str) -> list[str]:
    """A component's warnings about what it accepts: that it is deprecated, will be removed or is ignored. Each once, as logged."""
    found = filter(None, map(_warning_in, output.splitlines()))
    # klog quotes an error of one line, and sets one of several lines as a block.
    ignored = (" ".join(text[1].split()) if text[1] else unquote(text[0]) for text in _STRICT_ERROR.finditer(output))
    return list(dict.fromkeys([*found, *ignored]))


def _warning_in(line: str) -> str:
    header = _KLOG_HEADER.match(line)
    if header:
        quoted = re.match(r'"((?:[^"\\]|\\.)*)"', line[header.end() :])
        message = line[header.end() :] if quoted is None else unquote(quoted[1]) + line[header.end() + quoted.end() :]
        text = "" if header["severity"] == "I" and not message.startswith(_WARNING) else message
    elif line.startswith("{"):
        text = _json_message(line)
    else:
        text = line if _DEPRECATED_FLAG.match(line) else ""
    return text.removeprefix(_WARNING) if _WARNS.search(text) else ""


def _json_message(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    if entry.get("err"):
        return ""
    fields = [f"{name}={json.dumps(value)}" for name, value in entry.items() if name not in _LOG_FIELDS]
    return " ".join([str(entry.get("msg", "")), *fields])


def error_message(output: str) -> str | None:
    """The component's reason for ending, out of its log: text or JSON logging, a flag error or a panic."""
    message: str | None = None
    for line in output.splitlines():
        message = _error_in(line) or message
    return message


def _error_in(line: str) -> str | None:
    if line.startswith("{"):
        try:
            entry = json.loads(line)
        except ValueError:
            return None
        return str(entry["err"]) if entry.get("err") and "command failed" in str(entry.get("msg")) else None
    quoted = _QUOTED_ERROR.search(line)
    if quoted and '"command failed"' in line:
        return quoted.group(1).replace('\\"', '"').replace("\\n", "; ").replace("\\\\", "\\")
    if _PLAIN_ERROR.match(line):
        return line[len("Error: ") :] if line.lower().startswith("error: ") else line
    return None


def _last_lines(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return " | ".join(lines[-3:]) or "(no output)"
