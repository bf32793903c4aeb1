# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resources, times of probes and priority of a static pod."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import other_containers
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import State
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pods import following, planned, state

Options = dict[str, t.Any]

CRITICAL = {"priorityClassName": "system-node-critical", "priority": 2000001000}


def test_amounts_and_times_are_set_and_go_back_byte_for_byte() -> None:
    done = planned(
        resources={"requests": {"cpu": "300m", "memory": "1.5Gi"}, "limits": {"memory": "3Gi"}},
        probes={
            "livenessProbe": {"failureThreshold": 12, "timeoutSeconds": "30"},
            "startupProbe": {"periodSeconds": 5},
        },
    )
    container = done.after.container
    assert container["resources"] == {"requests": {"cpu": "300m", "memory": "1.5Gi"}, "limits": {"memory": "3Gi"}}
    assert (container["livenessProbe"]["failureThreshold"], container["livenessProbe"]["timeoutSeconds"]) == (12, 30)
    assert container["startupProbe"]["periodSeconds"] == 5
    assert {change.field: change.key for change in done.operations} == {
        "resources": "limits.memory",
        "probes": "startupProbe.periodSeconds",
    }
    back = planned(following(done), purge=True)
    assert back.after.text == samples.API_SERVER
    assert back.record == {}


@pytest.mark.parametrize("blank", ["", " ~", " null # default"])
def test_a_key_without_a_value_is_one_that_is_not_set_and_goes_back(blank: str) -> None:
    text = samples.API_SERVER.replace("cpu: 250m", f"memory: 1Gi\n        cpu:{blank}")
    text = text.replace("periodSeconds: 10", f"periodSeconds:{blank}")
    assert text.count(f":{blank}\n") > 1
    before = state(text)
    desired: Options = {
        "resources": {"requests": {"cpu": "333m"}},
        "probes": {"livenessProbe": {"periodSeconds": 15}, "startupProbe": {"periodSeconds": 15}},
    }
    done = planned(before, **desired)
    assert "cpu: 333m" in done.after.text
    assert "periodSeconds: 15" in done.after.text
    assert planned(following(done), purge=True).after.text == text
    assert planned(before, resources={"requests": {"cpu": None}}).operations == ()


def test_the_same_requested_again_is_no_change() -> None:
    options: Options = {"resources": {"requests": {"cpu": 0.5}}, "probes": {"readinessProbe": {"periodSeconds": 2}}}
    assert planned(following(planned(**options)), **options).operations == ()


@pytest.mark.parametrize("amount", ["250m", "0.25", 0.25, "2500e-4"])
def test_an_amount_that_is_worth_the_same_is_no_change(amount: t.Any) -> None:
    assert planned(resources={"requests": {"cpu": amount}}).operations == ()


@pytest.mark.parametrize("written", ["0.25", "1.0", "2.50", ".5", "1e1", "010"])
@pytest.mark.parametrize("amount", ["333m", None])
def test_an_amount_that_is_a_number_comes_back(written: str, amount: str | None) -> None:
    text = samples.API_SERVER.replace("cpu: 250m", f"cpu: {written} # measured")
    done = planned(samples.state(text), resources={"requests": {"cpu": amount}})
    assert len(done.operations) == 1
    assert planned(following(done, samples.state(text)), purge=True).after.text == text


@pytest.mark.parametrize(
    ("amount", "written"), [(2, "2"), ("2", "2"), (0.5, "500m"), ("1e3", "1000"), ("2k", "2k"), ("0.0001", "1m")]
)
def test_an_amount_stands_in_a_manifest_without_quotes(amount: t.Any, written: str) -> None:
    done = planned(resources={"requests": {"cpu": amount}})
    assert done.after.text == samples.API_SERVER.replace("cpu: 250m", f"cpu: {written}")


def test_null_takes_a_value_away_with_what_only_held_it() -> None:
    options: Options = {
        "resources": {"requests": {"cpu": None}},
        "probes": {"livenessProbe": {"failureThreshold": None}},
    }
    done = planned(**options)
    assert "resources" not in done.after.container
    assert "failureThreshold" not in done.after.container["livenessProbe"]
    assert planned(following(done), **options).operations == ()
    back = planned(following(done), purge=True)
    assert back.after.container == samples.manifest().container


def test_resources_are_made_where_there_are_none() -> None:
    before = state(samples.API_SERVER.replace("    resources:\n      requests:\n        cpu: 250m\n", ""))
    done = planned(before, resources={"limits": {"memory": "3Gi"}})
    assert done.after.container["resources"] == {"limits": {"memory": "3Gi"}}
    assert planned(following(done), purge=True).after.text == before.manifest.text


def test_a_priority_is_a_class_and_its_number() -> None:
    done = planned(priority=CRITICAL)
    assert {key: done.after.pod["spec"][key] for key in CRITICAL} == CRITICAL
    assert planned(following(done), purge=True).after.text == samples.API_SERVER
    own = {"priorityClassName": "mine", "priority": 1000}
    assert planned(following(done), priority=own).after.pod["spec"]["priority"] == 1000
    nothing = planned(following(done), priority=dict.fromkeys(CRITICAL))
    assert not CRITICAL.keys() & nothing.after.pod["spec"].keys()


CONTRADICTIONS: dict[str, tuple[Options, str]] = {
    "request above limit": (
        {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": "1500m"}}},
        "resources: with requests.cpu 2 and limits.cpu 1500m",
    ),
    "limit below the request that is there": (
        {"resources": {"limits": {"cpu": "100m"}}},
        "resources: with requests.cpu 250m and limits.cpu 100m",
    ),
    "another number of a class": (
        {"priority": {"priority": 1000}},
        "priority: invalid priority 1000: must be the number of the pod's priorityClassName, which is system-node-critical; that of"
        " system-node-critical is 2000001000",
    ),
    "a number without a class": (
        {"priority": {"priorityClassName": None, "priority": 1000}},
        "must be the number of the pod's priorityClassName, which is not set. Name both",
    ),
    "the number of a system class for another": (
        {"priority": {"priorityClassName": "mine", "priority": 2000000000}},
        "must be at most 1000000000 outside of the system's own classes",
    ),
}


@pytest.mark.parametrize(("options", "complaint"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_would_keep_the_pod_from_running_is_refused(options: Options, complaint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        planned(**options)
    assert complaint in str(refusal.value)


def test_what_contradicts_itself_already_is_no_matter_of_another_change() -> None:
    before = state(samples.API_SERVER.replace("  hostNetwork: true\n", "  hostNetwork: true\n  priority: 7\n"))
    assert planned(before, args={"v": 4}).operations


def test_a_probe_that_is_not_there_is_not_made() -> None:
    before = State(samples.manifest(samples.KUBE_VIP, "kube-vip"), {}, {})
    with pytest.raises(Refusal, match="container kube-vip has no livenessProbe, and this module changes"):
        planned(before, name="kube-vip", probes={"livenessProbe": {"periodSeconds": 5}})


BAD: dict[str, tuple[Options, str]] = {
    "resource": (
        {"resources": {"requests": {"gpu": 1}}},
        "resources: requests: invalid key 'gpu': must be one of cpu,",
    ),
    "kind": (
        {"resources": {"request": {"cpu": 1}}},
        "resources: invalid key 'request': must be one of requests, limits",
    ),
    "no mapping": ({"resources": {"requests": None}}, "resources: invalid requests None: must be a mapping of cpu,"),
    "amount": (
        {"resources": {"limits": {"cpu": "much"}}},
        "resources: invalid value 'much' of limits.cpu: must be a quantity",
    ),
    "negative amount": ({"resources": {"limits": {"cpu": -1}}}, "resources: invalid value -1 of limits.cpu"),
    "probe": (
        {"probes": {"liveness": {"periodSeconds": 1}}},
        "probes: invalid key 'liveness': must be one of startupProbe,",
    ),
    "time": ({"probes": {"livenessProbe": {"httpGet": 1}}}, "probes: livenessProbe: invalid key 'httpGet'"),
    "no number": ({"probes": {"livenessProbe": {"periodSeconds": "5s"}}}, "invalid livenessProbe.periodSeconds '5s'"),
    "boolean": ({"probes": {"livenessProbe": {"periodSeconds": True}}}, "invalid livenessProbe.periodSeconds True"),
    "zero": ({"probes": {"livenessProbe": {"periodSeconds": 0}}}, "must be a whole number from 1 to 2147483647"),
    "huge": ({"probes": {"livenessProbe": {"periodSeconds": 2**31}}}, "must be a whole number from 1 to 2147483647"),
    "priority's key": (
        {"priority": {"class": "x"}},
        "priority: invalid key 'class': must be one of priorityClassName, priority",
    ),
    "class": ({"priority": {"priorityClassName": "A b"}}, "priority: invalid priorityClassName 'A b'"),
    "priority": ({"priority": {"priority": "high"}}, "priority: invalid priority 'high'"),
}


@pytest.mark.parametrize(("options", "complaint"), BAD.values(), ids=BAD)
def test_what_no_pod_could_have_is_refused(options: Options, complaint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        samples.desired(**options)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("host", "host_network", "expected"),
    [("", False, "pod"), ("", True, "host"), ("127.0.0.1", False, None), ("127.0.0.1", True, None)],
)
def test_probe_without_host_queries_address_of_pod(host: str, host_network: bool, expected: str | None) -> None:
    text = (
        samples.SCHEDULER.replace("spec:\n", "spec:\n  hostNetwork: true\n", 1) if host_network else samples.SCHEDULER
    )
    text = text.replace("httpGet:\n", f"httpGet:\n        host: {host}\n") if host else text
    (probe,) = samples.manifest(text, "kube-scheduler").probes()
    assert probe.get("network") == expected


def test_other_containers_are_those_that_run_as_long_as_pod() -> None:
    more = (
        "  - {name: kms, image: k}\n  initContainers:\n  - {name: copy, image: c}\n"
        "  - {name: vip, image: v, restartPolicy: Always}\n"
    )
    text = samples.SCHEDULER.replace("  volumes:\n", f"{more}  volumes:\n")
    for given, expected in ((text, ["kms", "vip"]), (samples.SCHEDULER, [])):
        assert other_containers(samples.manifest(given, "kube-scheduler")) == expected


def test_probes_with_their_defaults() -> None:
    assert samples.manifest().probes() == [
        {"kind": "http", "scheme": "https", "host": "10.0.0.11", "port": 6443, "path": "/livez", "headers": {}},
        {"kind": "http", "scheme": "https", "host": "10.0.0.11", "port": 6443, "path": "/readyz", "headers": {}},
    ]
    assert samples.manifest(samples.SCHEDULER, "kube-scheduler").probes() == [
        {
            "kind": "http",
            "scheme": "https",
            "host": "127.0.0.1",
            "port": 10259,
            "path": "/livez",
            "headers": {},
            "network": "pod",
        }
    ]
