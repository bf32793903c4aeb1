# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection at work on a fresh cluster, on one screen. Ends with an error when anything is not as it claims."""

from __future__ import annotations

import difflib
import json
import sys
import textwrap
import typing as t

from runs import ROOT, Lab, Run, run_playbook  # type: ignore[import-not-found]  # beside this program

OUTPUT = ROOT / "build/demo"
GATE = "InPlacePodVerticalScaling"
PLUGIN = "ExtendedResourceToleration"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
WISH = {"control_plane_feature_gates": {GATE: True}, "control_plane_admission_plugins": {PLUGIN: "enabled"}}
# Nothing listens there: the API server starts, takes every argument, and never becomes ready.
NEVER_READY = {
    **WISH,
    "control_plane_components": {"kube-apiserver": {"args": {"etcd-servers": "https://127.0.0.1:1"}}},
    "control_plane_wait_timeout": 60,
}

facts: dict[str, t.Any] = {}
broken_claims: list[str] = []


def say_line(line: str) -> None:
    """Print at once, also into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say(text: str = "", indent: int = 0) -> None:
    """Print, within the width of a terminal."""
    for line in textwrap.wrap(text, 80 - indent) or [""]:
        say_line(" " * indent + line)


def claim(holds: bool, text: str) -> None:
    """State something that was checked."""
    say(f"{'ok ' if holds else 'NOT AS CLAIMED:'} {text}", 3)
    if not holds:
        broken_claims.append(text)


def differences(before: str, after: str) -> list[str]:
    """The lines that differ, marked."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [f"{line[0]} {line[1:].strip()}" for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


def show_change(result: dict[str, t.Any]) -> None:
    """One component: its diff, what it said in the rehearsal, how long it was away."""
    transaction, rehearsal = result["transaction"], result["rehearsal"]
    say(result["name"], 3)
    for line in differences(result["diff"][0]["before"], result["diff"][0]["after"]):
        say_line(f"     {line}")
    say(f"rehearsal {rehearsal['verdict']} in {rehearsal['seconds']:.1f} s; {ending(transaction)}", 5)


def ending(transaction: dict[str, t.Any]) -> str:
    """How a transaction ended."""
    return (
        f"{transaction['outcome']} after {transaction['seconds']:.0f} s, outage {transaction['outage_seconds']:.1f} s"
    )


def processes(node: dict[str, t.Any]) -> dict[str, list[int]]:
    """The process numbers of each component."""
    return {name: [process["pid"] for process in found] for name, found in node["processes"].items()}


def arguments(node: dict[str, t.Any], component: str) -> list[str]:
    """The command line of a component that runs once."""
    (process,) = node["processes"][component]
    return t.cast(list[str], process["arguments"])


def messages(run: Run) -> list[str]:
    """Why a run failed, each reason once."""
    return list(dict.fromkeys(result["msg"] for result in run.results() if "msg" in result))


def change(lab: Lab) -> None:
    """Gate and plugin are switched on."""
    say(f"1. Switch on gate {GATE} and plugin {PLUGIN}")
    before = lab.look()
    run = run_playbook(lab, WISH, OUTPUT / "1-change.json", "--diff")
    changes = run.changes()
    for component in COMPONENTS:
        if component in changes:
            show_change(changes[component])
    after = lab.look()
    facts["change"] = {"seconds": run.seconds, "components": changes}
    claim(
        run.rc == 0 and list(changes) == list(COMPONENTS),
        f"all three changed, one after the other, in {run.seconds:.0f} s",
    )
    gate = f"--feature-gates={GATE}=true"
    claim(
        all(gate in arguments(after, component) for component in COMPONENTS)
        and f"--enable-admission-plugins=NodeRestriction,{PLUGIN}" in arguments(after, "kube-apiserver"),
        "the running processes have them, merged with NodeRestriction",
    )
    proof = changes["kube-apiserver"]["transaction"]["proof"]
    claim(
        proof["pid"] == processes(after)["kube-apiserver"][0] and proof["feature_gates"].get(GATE) is True,
        f"proof: pod {proof['uid'][:13]}..., pid {proof['pid']}, its own metrics show the gate on",
    )
    old, new = before["manifests"], after["manifests"]
    texts = [("".join(side["kube-apiserver.yaml"]["lines"])) for side in (old, new)]
    claim(
        old.keys() == new.keys()
        and {entry["mode"] for entry in new.values()} == {"0600"}
        and len(differences(*texts)) == 3
        and old["etcd.yaml"] == new["etcd.yaml"],
        "nothing else differs; mode 0600; no other file in the folder",
    )


def again(lab: Lab) -> None:
    """A second run has nothing to do."""
    say("2. The same again")
    before = lab.look()
    run = run_playbook(lab, WISH, OUTPUT / "2-again.json")
    facts["again"] = {"seconds": run.seconds, "changed": run.changed}
    claim(
        run.rc == 0 and run.changed == 0 and processes(lab.look()) == processes(before),
        f"changed={run.changed}, no process restarted ({run.seconds:.1f} s)",
    )


def refusal(lab: Lab) -> None:
    """A gate that does not exist."""
    say("3. Switch on NoSuchGate")
    before = lab.look()
    wish = {**WISH, "control_plane_feature_gates": {GATE: True, "NoSuchGate": True}}
    run = run_playbook(lab, wish, OUTPUT / "3-refusal.json")
    reason = messages(run)[0] if messages(run) else "(no word)"
    say(reason, 5)
    facts["refusal"] = {"seconds": run.seconds, "message": reason}
    claim(
        run.rc != 0 and "unrecognized feature gate: NoSuchGate" in reason,
        f"refused by Kubernetes itself in the rehearsal ({run.seconds:.1f} s)",
    )
    claim(lab.look() == before, "nothing was written, no process restarted")


def restore(lab: Lab) -> None:
    """An API server that never becomes ready."""
    say("4. Point the API server at an etcd that is not there, for 60 s at most")
    before = lab.look()
    run = run_playbook(lab, NEVER_READY, OUTPUT / "4-restore.json")
    failed = run.changes().get("kube-apiserver", {})
    transaction = failed.get("transaction") or {"outcome": "none", "seconds": 0, "outage_seconds": 0}
    say(textwrap.shorten(failed.get("msg", "(no word)"), 225, placeholder=" ..."), 5)
    facts["restore"] = {"seconds": run.seconds, "transaction": transaction}
    after = lab.look()
    claim(
        run.rc != 0
        and failed.get("rehearsal", {}).get("verdict") == "accepted"
        and transaction["outcome"] == "restored",
        f"rehearsal accepted, then {ending(transaction)}",
    )
    claim(
        after["manifests"] == before["manifests"]
        and arguments(after, "kube-apiserver") == arguments(before, "kube-apiserver")
        and lab.ask("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "get", "--raw=/readyz") == "ok",
        "the former bytes are back, and the API server is ready",
    )


def main() -> None:
    """Show it all."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lab = Lab.of_environment()
    say(
        f"Starting lab {lab.name}: Kubernetes {lab.kubernetes}, {lab.control_planes} control plane, {lab.workers} workers"
    )
    facts["lab"] = {"kubernetes": lab.kubernetes, "seconds": lab.start_anew(OUTPUT / "lab.log")}
    say(f"ready after {facts['lab']['seconds']:.0f} s (the first time builds Kubernetes; log: build/demo/lab.log)", 3)
    for part in (change, again, refusal, restore):
        part(lab)
    facts["broken_claims"] = broken_claims
    (OUTPUT / "demo.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")
    say("All of it as JSON: build/demo/")
    say(f"The lab stays up (inventory: build/lab/{lab.name}/inventory.yml); make lab-down LAB={lab.name} removes it.")
    if broken_claims:
        sys.exit(f"{len(broken_claims)} claim(s) did not hold.")


if __name__ == "__main__":
    main()
