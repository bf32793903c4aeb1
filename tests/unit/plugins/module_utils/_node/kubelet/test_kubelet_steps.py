# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's steps on a kubelet in a directory: what is read, rehearsed, and handed to the engine."""

from __future__ import annotations

import base64
import os
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import probes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    CLOSED,
    COMMITTED,
    SYSTEMD_UNIT,
    content_of,
    remove_journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import (
    kubelet_report,
    kubelet_unit_files,
    kubelet_units,
    kubelet_watch,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    journal_history,
    owned_record,
    state,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import verdict as verdicts
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import generator as kubelet_generator
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import rehearsal
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import ACCEPTED, UNKNOWN, Node
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig


@pytest.fixture(name="node")
def fixture_node(kubelet_node: Node) -> Node:
    return kubelet_node


def carry_out(node: Node, **given: t.Any) -> Json:
    """Everything up to the journal that the engine gets."""
    steps = node.steps(**given)
    with steps.session():
        steps.read()
        assert steps.notes() == []
        steps.plan()
        assert steps.rehearse().verdict == verdicts.ACCEPTED
        steps.apply()
    report = steps.report()
    assert schema_errors("kubelet", {**report, "transaction": None}, added_later={"rehearsal"}) == []
    assert set(report["transaction"]) == {"id", "requested", "outcome", "longest_seconds"}
    assert report["transaction"]["outcome"] is None
    return t.cast("Json", journal_history.open_journal("kubelet"))


def test_a_kubelet_that_is_down_is_planned_and_quoted(node: Node) -> None:
    node.crash("panic: unrecognized feature gate: OldGate\n")
    steps = node.steps(dry=True, config={"maxPods": 50})
    with steps.session():
        steps.read()
        (warning,) = steps.plan().warnings
    problem = steps.report()["problem"]
    assert problem.startswith("kubelet on w1 is activating (auto-restart) after 1 crash(es) (http://127.0.0.1:10248/")
    assert problem.endswith("; it logged last: panic: unrecognized feature gate: OldGate")
    assert warning.startswith(problem)


def test_a_version_that_is_not_tested(node: Node) -> None:
    node.version = "Kubernetes v1.31.9\n"
    steps = node.steps()
    with steps.session():
        steps.read()
        (note,) = steps.notes()
    assert note.startswith("w1: kubelet 1.31 (older than tested). ")
    warnings: list[str] = []
    kubelet_report.read_all(run=node.run, warn=warnings.append, host=node.host)
    assert warnings == [note]


def test_kubeconfig_that_cannot_be_used_is_a_warning_also_without_a_change(node: Node) -> None:
    node.kubeconfig.write_text(kubeconfig(user={"exec": "{command: aws}"}), encoding="utf-8")
    steps = node.steps(dry=True)
    with steps.session():
        steps.read()
        (note,) = steps.notes()
    why = "the user kubernetes-admin gets its credentials by exec, which cannot be used on a node"
    assert note.startswith(f"w1: {node.kubeconfig} cannot be used: {why}. So the API is not asked about this node")
    warnings: list[str] = []
    kubelet_report.read_all(run=node.run, warn=warnings.append, host=node.host)
    assert warnings == [note]


@pytest.mark.parametrize(("age", "refused"), [(-60, True), (60, False)])
def test_a_file_that_is_newer_than_the_process_is_refused(node: Node, age: int, refused: bool) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    node.write("proc/stat", f"btime {int(time.time()) + age - 100}\n")
    node.write("proc/7/stat", f"7 (kubelet) S {'0 ' * 18}{100 * ticks} 0")
    steps = node.steps(config={"maxPods": 50})
    with steps.session():
        steps.read()
        if refused:
            with pytest.raises(Refusal, match=r"config\.yaml.* changed after the kubelet was started"):
                steps.plan()
        else:
            node.main.chmod(0o600)  # as one who hardens the node does
            assert steps.plan().operations


@pytest.mark.parametrize(("age", "refused"), [(-60, True), (60, False)])
def test_a_fragment_that_was_removed_since_the_start_is_refused(node: Node, age: int, refused: bool) -> None:
    directory = node.root / "kubelet.conf.d"
    (directory / "50-site").mkdir(parents=True)
    node.extra.write_text(f"KUBELET_EXTRA_ARGS=--hostname-override=W1 --config-dir={directory}\n", encoding="utf-8")
    now = time.time()
    for each in (node.main, node.extra, directory):
        os.utime(each, (now - 3600, now - 3600))
    os.utime(directory / "50-site", (now, now))  # of which a file was removed
    node.write("proc/stat", f"btime {int(now) + age - 100}\n")
    node.write("proc/7/stat", f"7 (kubelet) S {'0 ' * 18}{100 * os.sysconf('SC_CLK_TCK')} 0")
    assert (str(directory / "50-site") in kubelet_units.read_unit(node.run, node.host).state.newer) == refused


def test_a_fragment_behind_a_link_is_refused(node: Node) -> None:
    link = node.root / "kubelet.conf.d"
    (node.root / "real").mkdir()
    link.symlink_to(node.root / "real")
    flag = f"--config-dir={link}"
    node.extra.write_text(f"KUBELET_EXTRA_ARGS=--hostname-override=W1 {flag}\n", encoding="utf-8")
    node.write("proc/7/cmdline", (node.root / "proc/7/cmdline").read_text(encoding="utf-8") + f"{flag}\0")
    steps = node.steps(config={"maxPods": 50})
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match=rf"^{link} on .* is a link, and a kubelet reads no file"):
            steps.plan()


def test_the_engine_gets_files_record_and_what_to_watch(node: Node) -> None:
    node.outputs *= 2
    journal = carry_out(node, config={"maxPods": 50})
    paths = [entry["path"] for entry in journal["files"]]
    assert paths == [
        f"{kubelet_layout.CONFIG_DIR}/{kubelet_layout.FRAGMENT}",
        kubelet_layout.DROP_IN,
        owned_record.record_path("kubelet"),
    ]
    assert journal["directories"] == sorted([kubelet_layout.CONFIG_DIR, str(node.root / "kubelet.service.d")])
    assert [entry["after"]["mode"] for entry in journal["files"]] == [0o600, 0o644, 0o600]
    watch = journal["watch"]
    assert (watch["kind"], watch["unit"]) == (SYSTEMD_UNIT, "kubelet.service")
    assert watch["node"] == {"name": "w1", "kubeconfig": str(node.kubeconfig)}
    assert f"--config-dir={kubelet_layout.CONFIG_DIR}" in watch["after"]["arguments"]
    assert watch["before"]["probes"] == [
        {"kind": "http", "scheme": "http", "host": "127.0.0.1", "port": 10248, "path": "/healthz"}
    ]
    assert "systemctl start --no-block nodecraft-kubeadm@kubelet.service" in node.calls


def test_the_rehearsal_is_the_safe_one_and_the_fragment_is_tried_alone(node: Node) -> None:
    node.outputs *= 2
    carry_out(node, config={"maxPods": 50})
    first, second = node.requests
    overrides = list(rehearsal.build_kubelet_command([]))
    assert len(overrides) == 6
    for request in (first, second):
        assert request["arguments"][-6:] == overrides
        assert not [mount for mount in request["mounts"] if mount["source"].startswith(("/run", "/var"))]
    fragment = f"{kubelet_layout.CONFIG_DIR}/{kubelet_layout.FRAGMENT}"
    assert second["arguments"][1] == f"--config={fragment}"
    assert b'"maxPods": 50' in base64.b64decode(first["staged"][fragment])


def test_a_field_that_the_kubelet_passes_over_is_refused(node: Node) -> None:
    node.outputs.append(UNKNOWN + ACCEPTED)
    steps = node.steps(config={"maxPodz": 50})
    with steps.session():
        steps.read()
        steps.plan()
        verdict = steps.rehearse()
    assert (verdict.verdict, verdict.message) == (verdicts.REFUSED, 'strict decoding error: unknown field "maxPodz"')


@pytest.mark.parametrize(
    ("alone", "why"),
    [
        ("", "ended with status 1 and no known message"),
        (
            'E1 "command failed" err="failed to load kubelet config file, path: /x, error: no such file"\n',
            "failed to load",
        ),
    ],
)
def test_fragment_never_decoded_alone_is_refused(node: Node, alone: str, why: str) -> None:
    node.outputs.append(alone)
    steps = node.steps(config={"maxPods": 50})
    with steps.session():
        steps.read()
        steps.plan()
        verdict = steps.rehearse()
    assert verdict.verdict == verdicts.REFUSED
    assert f"{kubelet_layout.FRAGMENT} was not decoded on its own: " in verdict.message
    assert why in verdict.message


def test_fragment_invalid_only_when_alone_is_accepted(node: Node) -> None:
    node.outputs.append('E1 "command failed" err="failed to validate kubelet configuration, error: invalid"\n')
    carry_out(node, config={"maxPods": 50})


def test_mistakes_of_others_are_known_to_the_engine(node: Node) -> None:
    node.outputs = [UNKNOWN + ACCEPTED]
    assert carry_out(node, args={"v": 4})["watch"]["complaints"] == [
        'strict decoding error: unknown field \\"maxPodz\\""'
    ]


def test_a_refusal_of_the_kubelet_ends_it(node: Node) -> None:
    node.outputs = ['E1 "command failed" err="failed to set feature gates: unrecognized feature gate: No"\n']
    steps = node.steps(feature_gates={"No": True})
    with steps.session():
        steps.read()
        steps.plan()
        assert "unrecognized feature gate: No" in steps.rehearse().message


def test_an_adopted_entry_is_no_revert_in_a_refusal(node: Node) -> None:
    node.extra.write_text("KUBELET_EXTRA_ARGS=--hostname-override=W1 --v=2\n", encoding="utf-8")
    process = node.root / "proc/7/cmdline"
    process.write_text(f"{process.read_text(encoding='utf-8')}--v=2\0", encoding="utf-8")
    node.outputs = ['E1 "command failed" err="unknown flag: --no"\n']
    steps = node.steps(args={"v": 4, "no": "x"}, adopt=True, force=True)
    with steps.session():
        steps.read()
        assert "adopted" in {change.field for change in steps.plan().operations}
        assert "is a revert" not in steps.rehearse().message


def test_check_mode_leaves_no_trace(node: Node) -> None:
    steps = node.steps(dry=True, args={"v": 4})
    with steps.session():
        steps.read()
        steps.plan()
    assert not (node.root / "state").exists()
    assert steps.report()["diff"][0]["after_header"] == kubelet_layout.DROP_IN


def test_a_unit_that_shadows_the_loaded_one_is_refused(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    local = node.root / "local.service"
    monkeypatch.setattr(kubelet_unit_files, "_STRONGER_UNITS", (str(local), "/none"))
    kubelet_units.read_unit(node.run, node.host)
    local.symlink_to(node.unit)
    kubelet_units.read_unit(node.run, node.host)
    local.unlink()
    local.touch()
    with pytest.raises(Refusal, match=r"a file of kubelet\.service was changed or added and not loaded"):
        kubelet_units.read_unit(node.run, node.host)
    node.properties["FragmentPath"] = str(local)
    local.write_text(kubelets.UNIT_TEXT, encoding="utf-8")
    kubelet_units.read_unit(node.run, node.host)


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({"LoadState": "not-found"}, "has no kubelet.service"),
        ({"NeedDaemonReload": "yes"}, "not loaded"),
        ({"DropInPaths": "/no/such.conf"}, "does not exist"),
        (
            {"DropInPaths": "/no/such.conf [unprintable]"},
            "name of a drop-in .* has a blank in it. Find it .* rename it",
        ),
    ],
)
def test_a_unit_that_cannot_be_used_is_refused(node: Node, properties: dict[str, str], error: str) -> None:
    node.properties.update(properties)
    with pytest.raises(KubeadmError, match=error):
        kubelet_units.read_unit(node.run, node.host)


def test_a_kubelet_without_a_version_is_named(node: Node) -> None:
    node.version = "what?"
    with pytest.raises(KubeadmError, match="gives no version: what"):
        kubelet_units.read_unit(node.run, node.host)


def cordoned(*pods: dict[str, t.Any], unschedulable: bool = True) -> t.Callable[[str, str], t.Any]:
    def http_get(kubeconfig: str, path: str) -> tuple[Json | None, str]:
        return ({"items": list(pods)}, "") if "pods" in path else ({"spec": {"unschedulable": unschedulable}}, "")

    return http_get


def pod(name: str, **given: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"namespace": "a", "name": name, **given}, "status": {"phase": given.pop("phase", "Running")}}


QUIET = [
    pod("mirror", annotations={"kubernetes.io/config.mirror": "x"}),
    pod("daemon", ownerReferences=[{"kind": "DaemonSet", "controller": True}]),
    pod("done", phase="Succeeded"),
]


def test_what_restarts_every_container_needs_one_too(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "api_get", cordoned(*QUIET, pod("web")))
    steps = node.steps(config={"cgroupDriver": "systemd", "cgroupsPerQOS": False})
    with steps.session():
        steps.read()
        message = r"cgroupDriver, cgroupsPerQOS would change on w1, which is not drained: .* restarts every container of the node"
        with pytest.raises(Refusal, match=message):
            steps.plan()


@pytest.mark.parametrize(
    ("http_get", "reason"),
    [
        (cordoned(*QUIET, pod("web")), "it runs a/web"),
        (cordoned(*QUIET, unschedulable=False), "it takes new pods"),
        (lambda kubeconfig, path: (None, "the API server answers 403"), "answers 403"),
    ],
)
def test_a_policy_needs_a_drained_node(
    node: Node, monkeypatch: pytest.MonkeyPatch, http_get: t.Any, reason: str
) -> None:
    monkeypatch.setattr(probes, "api_get", http_get)
    steps = node.steps(config={"cpuManagerPolicy": "static"})
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match=rf"cpuManagerPolicy would change on w1, which is not drained: .*{reason}"):
            steps.plan()


def test_unread_credential_is_repaired_and_not_forced(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: (None, "not asked"))
    monkeypatch.setattr(kubelet_watch, "find_problem", lambda path: "it names no server")
    steps = node.steps(config={"cpuManagerPolicy": "static"})
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match=r"not drained: not asked\. .*\. Repair \S+kubelet.conf, and run again\.$"):
            steps.plan()


@pytest.mark.parametrize("force", [True, False])
def test_what_it_remembers_of_a_policy_makes_way(node: Node, monkeypatch: pytest.MonkeyPatch, force: bool) -> None:
    monkeypatch.setattr(probes, "api_get", cordoned(*QUIET, unschedulable=not force))
    node.outputs *= 2
    journal = carry_out(node, force=force, config={"cpuManagerPolicy": "static", "topologyManagerPolicy": "restricted"})
    ((entry),) = journal["watch"]["set_aside"]
    assert entry["path"] == "/var/lib/kubelet/cpu_manager_state"
    assert entry["aside"].endswith(f"-{journal['id']}")
    assert (entry["existed"], entry["policy"]) == (False, "static")


def test_what_a_policy_stands_on_needs_a_drained_node_too(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "api_get", cordoned(*QUIET, pod("web")))
    node.write("config.yaml", f"{kubelets.MAIN_TEXT}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n")
    steps = node.steps(config={"reservedSystemCPUs": "0,1"})
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match=r"config: reserved CPUs would change on w1, which is not drained: .*a/web"):
            steps.plan()


def test_state_files_are_read_below_the_kubelets_root(node: Node) -> None:
    root_dir = node.give_root()
    (root_dir / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"","checksum":1}', encoding="ascii"
    )
    (root_dir / "memory_manager_state").write_text('{"policyName":"None"}', encoding="ascii")
    unit = kubelet_units.read_unit(node.run, node.host)
    assert unit.state.state_policies == {"cpu_manager_state": "static", "memory_manager_state": "none"}
    node.outputs *= 2
    journal = carry_out(node, force=True, config={"memoryManagerPolicy": "Static"})
    # The CPU manager's was not requested, but the kubelet would not start over it.
    found = [(entry["path"], entry["existed"], entry["policy"]) for entry in journal["watch"]["set_aside"]]
    assert found == [
        (str(root_dir / "cpu_manager_state"), True, "none"),
        (str(root_dir / "memory_manager_state"), True, "static"),
    ]


# ---- the rollback ----------------------------------------------------------------------------------------------------


def end_well(node: Node, journal: t.Any) -> None:
    """What the engine does when the change succeeds: the files, the history, and a kubelet that runs with them."""
    for entry in journal["files"]:
        path = Path(entry["path"])
        if entry["after"] is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content_of(entry["after"]) or b"")
            path.chmod(entry["after"]["mode"])
            os.chown(path, entry["after"]["uid"], entry["after"]["gid"])
    directory = state.state_directory("kubelet")
    journal["result"] = {"outcome": COMMITTED, "reason": None, "ended": "2026-01-01T00:01:00Z"}
    number = len(journal_history.ended_ids("kubelet"))
    save_journal(directory, journal | {"phase": CLOSED}, f"20260101T00000{number}.000000Z-abcdef")
    remove_journal(directory)
    has_drop_in = os.path.exists(kubelet_layout.DROP_IN)
    node.properties["DropInPaths"] = f"{node.kubeadm} {kubelet_layout.DROP_IN}" if has_drop_in else str(node.kubeadm)
    node.write("proc/7/cmdline", "\0".join([*journal["watch"]["after"]["arguments"], ""]))
    journal_history.set_reported("kubelet", journal_history.ended_ids("kubelet")[-1])


def test_a_unit_without_variables_gets_a_generator(node: Node) -> None:
    node.outputs *= 2
    used = f"--kubeconfig={node.kubeconfig} --config={node.main} --hostname-override=w1"
    node.kubeadm.write_text(
        f"[Service]\nExecStart=\nExecStart=/usr/bin/kubelet {used}\n",
        encoding="utf-8",
    )
    node.write("proc/7/cmdline", "\0".join(["/usr/bin/kubelet", *used.split(), ""]))
    journal = carry_out(node, args={"v": 4})
    drop_in, generator = journal["files"][:2]
    assert (drop_in["path"], generator["path"]) == (kubelet_layout.DROP_IN, kubelet_generator.GENERATOR)
    assert (generator["after"]["mode"], content_of(generator["after"])) == (0o755, kubelet_generator.TEXT.encode())
    assert journal["watch"]["after"]["arguments"][-1] == "--v=4"
    end_well(node, journal)
    # systemd made it of the generator, at whatever time.
    command = f"/usr/bin/kubelet {used} $NODECRAFT_KUBEADM_ARGS"
    derived = node.write("run/zzzz-derived.conf", f"[Service]\nExecStart=\nExecStart={command}\n")
    os.utime(derived, (time.time() + 1000, time.time() + 1000))
    node.properties["DropInPaths"] += f" {derived}"
    # The script of an earlier version is replaced with the next change only, so nothing is shown of it before.
    Path(kubelet_generator.GENERATOR).write_text("#!/bin/sh\n", encoding="utf-8")
    steps = node.steps(args={"v": 4})
    with steps.session():
        steps.read()
        assert steps.plan().operations == ()
    assert steps.report()["diff"] == []
    gone = carry_out(node, state="absent")
    assert [(entry["path"], entry["after"]) for entry in gone["files"][:2]] == [
        (kubelet_layout.DROP_IN, None),
        (kubelet_generator.GENERATOR, None),
    ]
    assert gone["watch"]["after"]["arguments"] == ["/usr/bin/kubelet", *used.split()]
    assert str(node.root / "generators") in gone["obsolete"]


@pytest.mark.parametrize("is_ours", [True, False])
def test_only_directories_that_a_change_made_go_with_the_last_file(node: Node, is_ours: bool) -> None:
    directory = Path(kubelet_layout.CONFIG_DIR)
    if not is_ours:
        directory.mkdir(parents=True)
    node.outputs *= 9
    end_well(node, carry_out(node, config={"maxPods": 50}))
    end_well(node, carry_out(node, config={"maxPods": 60}))
    assert (str(directory) in carry_out(node, state="absent")["obsolete"]) is is_ours


def test_a_directory_of_drop_ins_may_be_a_link(node: Node) -> None:
    real = node.root / "real"
    real.mkdir()
    Path(kubelet_layout.DROP_IN).parent.symlink_to(real)
    node.outputs *= 9
    end_well(node, carry_out(node, config={"maxPods": 50}))
    node.properties["DropInPaths"] = f"{node.kubeadm} {real / Path(kubelet_layout.DROP_IN).name}"  # as systemd names it
    assert kubelet_layout.DROP_IN in [
        entry["path"] for entry in carry_out(node, state="absent")["files"] if entry["after"] is None
    ]


def test_the_last_change_is_reverted(node: Node) -> None:
    node.outputs *= 4
    first = carry_out(node, config={"maxPods": 50})
    end_well(node, first)
    found = kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["undo"]
    assert found["transaction"] == first["id"]
    assert found["operations"] == [{"field": "config", "key": "maxPods", "before": 50, "after": 110}]
    assert [each["change"] for each in found["files"]] == ["removed"] * 3
    assert '-  "maxPods": 50' in found["files"][0]["diff"]
    assert found["files"][2]["diff"] is None  # our settings are reported elsewhere
    journal = carry_out(node, state="previous")
    assert journal["reverts"] == first["id"]
    for entry, former in zip(journal["files"], first["files"]):
        assert (entry["path"], entry["before"], entry["after"]) == (former["path"], former["after"], former["before"])
    assert f"--config-dir={kubelet_layout.CONFIG_DIR}" not in journal["watch"]["after"]["arguments"]
    # Directories that the change made go with it, and are not made again.
    assert (journal["directories"], set(first["directories"]) - set(journal["obsolete"])) == ([], set())
    end_well(node, journal)
    assert kubelet_report.read_all(run=node.run, warn=pytest.fail, host=node.host)["undo"] is None
    steps = node.steps(state="previous")
    with steps.session():
        steps.read()
        assert steps.plan().operations == ()
    assert steps.report()["reverts"] is None


def test_a_policy_is_reverted_on_a_drained_node_and_its_state_makes_way(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.outputs *= 4
    monkeypatch.setattr(probes, "api_get", cordoned(*QUIET))
    end_well(node, carry_out(node, config={"cpuManagerPolicy": "static"}))
    monkeypatch.setattr(probes, "api_get", cordoned(*QUIET, unschedulable=False))
    steps = node.steps(state="previous")
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match="cpuManagerPolicy would change on w1, which is not drained"):
            steps.plan()
    journal = carry_out(node, state="previous", force=True)
    assert [entry["path"] for entry in journal["watch"]["set_aside"]] == ["/var/lib/kubelet/cpu_manager_state"]


def test_settings_beside_it_are_refused(node: Node) -> None:
    steps = node.steps(state="previous", config={"maxPods": 50}, adopt=True)
    with pytest.raises(Refusal, match="config, adopt is given too"), steps.session():
        pass


def test_without_any_change_that_is_reported(node: Node) -> None:
    steps = node.steps(state="previous")
    with steps.session():
        steps.read()
        assert steps.plan().warnings == (
            "kubelet on w1: this collection has no change in effect, so there is nothing to revert.",
        )
