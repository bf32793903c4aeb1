# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of an etcd member must not do, and what makes it a risk."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import etcd_change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.etcd_change import Member
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import Manifest
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

GIB = 1024**3
MEMBERS = tuple(Member(name, votes=True, healthy=True, is_this=name == "a") for name in "abc")


def etcd(*arguments: str, **environment: str) -> Manifest:
    """A member's manifest with these flags and environment variables."""
    text = samples.etcd(*arguments)
    entries = "".join(f"    - name: {name}\n      value: '{value}'\n" for name, value in environment.items())
    return samples.manifest(
        text.replace("    name: etcd\n", f"    env:\n{entries}    name: etcd\n") if entries else text, "etcd"
    )


# ---- identity --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (etcd("--name=a"), etcd("--name=b")),
        (etcd("--name=a"), etcd()),
        (etcd(), etcd("--initial-cluster-state=existing")),
        (
            etcd("--initial-advertise-peer-urls=https://10.0.0.1:2380"),
            etcd("--initial-advertise-peer-urls=https://10.0.0.2:2380"),
        ),
        (etcd("--listen-peer-urls=https://10.0.0.1:2380"), etcd("--listen-peer-urls=https://10.0.0.2:2380")),
        (etcd(), etcd("--data-dir=/other")),
        (etcd(), etcd("--wal-dir=/other")),
        (etcd(), etcd("--config-file=/etc/etcd.yaml")),
        (etcd(), etcd("--discovery-srv=example.org")),
        (etcd(), etcd(ETCD_NAME="b")),
        (etcd(ETCD_INITIAL_CLUSTER="a"), etcd(ETCD_INITIAL_CLUSTER="b")),
        (etcd("--name=$(NODE)", NODE="a"), etcd("--name=$(NODE)", NODE="b")),
    ],
)
def test_what_the_cluster_knows_a_member_by_is_not_changed(before: Manifest, after: Manifest) -> None:
    with pytest.raises(Refusal, match="identifies this member by what would change"):
        etcd_change.refuse_other_identity(before, after)
    etcd_change.refuse_other_identity(before, before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (etcd("--name=a"), etcd("--name", "a")),
        (etcd("--name=a"), etcd("--name=a", ETCD_NAME="b")),  # it is refused for another reason
        (etcd("--snapshot-count=1"), etcd("--snapshot-count=2")),
        (etcd(), etcd("--initial=1")),
    ],
)
def test_what_leaves_the_identity_alone_is_no_reason(before: Manifest, after: Manifest) -> None:
    etcd_change.refuse_other_identity(before, after)


def test_values_of_the_environment_are_not_shown() -> None:
    with pytest.raises(Refusal) as raised:
        etcd_change.refuse_other_identity(etcd(), etcd(ETCD_NAME="secret"))
    assert "name: unset -> $(ETCD_NAME)" in str(raised.value)
    assert "secret" not in str(raised.value)


# ---- settings that are given twice ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        (
            etcd(ETCD_QUOTA_BACKEND_BYTES="4294967296"),
            etcd("--quota-backend-bytes=1", ETCD_QUOTA_BACKEND_BYTES="4294967296"),
        ),
        (etcd("--quota-backend-bytes=1"), etcd("--quota-backend-bytes=1", ETCD_QUOTA_BACKEND_BYTES="1")),
        (etcd(), etcd("--quota-backend-bytes", "'1'", ETCD_QUOTA_BACKEND_BYTES="")),  # etcd looks at the name alone
    ],
)
def test_a_flag_beside_its_variable_is_refused(once: Manifest, twice: Manifest) -> None:
    with pytest.raises(
        Refusal, match="does not start with both --quota-backend-bytes and the variable ETCD_QUOTA_BACKEND_BYTES"
    ):
        etcd_change.refuse_shadowed_variables(once, twice)
    etcd_change.refuse_shadowed_variables(twice, once)
    etcd_change.refuse_shadowed_variables(twice, twice)  # a repair of something else


def test_variables_beside_other_flags_are_taken() -> None:
    after = etcd("--quota-backend-bytes=1", ETCD_AUTO_COMPACTION_RETENTION="8", ETCDCTL_API="3")
    etcd_change.refuse_shadowed_variables(etcd(), after)
    file = "--config-file=/etc/etcd.yaml"  # etcd reads it alone
    etcd_change.refuse_shadowed_variables(etcd(file), etcd(file, "--name=a", ETCD_NAME="a"))


# ---- the quota -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quota", "size", "words"),
    [
        ("--quota-backend-bytes=1048576", 2 * 1024**2, r"quota-backend-bytes 1048576 is 1\.0 MiB, .* has 2\.0 MiB"),
        ("--quota-backend-bytes=3221225472", 3 * GIB, r"is 3\.0 GiB, .* has 3\.0 GiB.* \(3\.6 GiB\)"),
        ("--quota-backend-bytes=0", 2 * GIB, r"is 2\.0 GiB"),
        ("--quota-backend-bytes=0x100000", 2 * 1024**2, r"is 1\.0 MiB"),
        ("--quota-backend-bytes=04000000", 2 * 1024**2, r"is 1\.0 MiB"),
        ("", 2 * GIB, r"etcd's default of quota-backend-bytes is 2\.0 GiB"),
    ],
)
def test_a_quota_that_the_database_nearly_fills_is_refused(quota: str, size: int, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        etcd_change.refuse_small_quota(
            etcd("--quota-backend-bytes=8589934592"), etcd(*filter(None, [quota])), size, "cp1"
        )


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [
        ("", "--quota-backend-bytes=1258291", 1024**2),
        ("", "--quota-backend-bytes=-1", 5 * GIB),
        ("", "--quota-backend-bytes=many", 5 * GIB),  # the rehearsal's to refuse
        ("--quota-backend-bytes=1", "--quota-backend-bytes=1", 5 * GIB),
        ("", "--quota-backend-bytes=1", None),
    ],
)
def test_other_quotas_are_taken(before: str, after: str, size: int | None) -> None:
    etcd_change.refuse_small_quota(etcd(*filter(None, [before])), etcd(after), size, "cp1")


def test_the_least_quota_is_taken() -> None:
    for size in (1, 7, 1024**2, 3 * GIB + 1):
        least = int(1.2 * size)
        etcd_change.refuse_small_quota(etcd(), etcd(f"--quota-backend-bytes={least}"), size, "cp1")
        if least > 1:
            with pytest.raises(Refusal, match=rf"times that: {least} "):
                etcd_change.refuse_small_quota(etcd(), etcd(f"--quota-backend-bytes={least - 1}"), size, "cp1")


# ---- the largest request ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["300", "0", "1572863", "0x100"])
def test_a_limit_that_objects_exceed_is_refused(size: str) -> None:
    with pytest.raises(Refusal, match=f"invalid max-request-bytes {size}: must be at least 1572864"):
        etcd_change.refuse_small_requests(etcd(), etcd(f"--max-request-bytes={size}"))


def test_a_limit_of_the_environment_is_refused() -> None:
    with pytest.raises(Refusal, match="max-request-bytes"):
        etcd_change.refuse_small_requests(etcd(), etcd(ETCD_MAX_REQUEST_BYTES="300"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("", "--max-request-bytes=1572864"),
        ("", "--max-request-bytes=many"),  # the rehearsal's to refuse
        ("--max-request-bytes=300", "--max-request-bytes=300"),
        ("--max-request-bytes=300", ""),
    ],
)
def test_other_limits_are_taken(before: str, after: str) -> None:
    etcd_change.refuse_small_requests(etcd(*filter(None, [before])), etcd(*filter(None, [after])))


# ---- the cluster -----------------------------------------------------------------------------------------------------


def risks(*members: Member, alarms: tuple[str, ...] = (), behind: tuple[str, ...] = ()) -> list[str]:
    return etcd_change.assess_risks(etcd_change.Cluster(members or MEMBERS, alarms, behind)).found


def test_a_cluster_that_is_well_is_no_risk() -> None:
    assert risks() == []
    assert risks(MEMBERS[0]) == []


def test_each_risk_is_reported() -> None:
    learner = Member("d", votes=False, healthy=True, is_this=False)
    silent = Member("c", votes=True, healthy=False, is_this=False)
    assert "NOSPACE of member 1" in risks(alarms=("NOSPACE of member 1",))[0]
    assert "d is a learner" in risks(*MEMBERS, learner)[0]
    assert "b of etcd has not caught up" in risks(behind=("b",))[0]
    (lost,) = risks(*MEMBERS[:2], silent, behind=("c",))
    assert "would lose its majority" in lost
    more = tuple(Member(name, votes=True, healthy=True, is_this=False) for name in "de")
    (one,) = risks(*MEMBERS[:2], silent, *more)
    assert "c of etcd is not healthy" in one


@pytest.mark.parametrize(
    ("alarm", "counts"),
    [("NOSPACE of member 1", False), ("CORRUPT of member 1", True), ("its health check says alarm:CORRUPT", True)],
)
def test_a_member_is_not_repaired_in_a_cluster_that_is_corrupt(alarm: str, counts: bool) -> None:
    found = etcd_change.assess_risks(etcd_change.Cluster(MEMBERS, (alarm,), ()))
    assert (found.counts_for_repair, found.warning) == (counts, "")


# ---- where it is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("servers", "listening", "external"),
    [
        ([("127.0.0.1", 2379)], [("127.0.0.1", 2379), ("10.0.0.1", 2379)], False),
        ([("10.0.0.9", 2379), ("10.0.0.1", 2379)], [("10.0.0.1", 2379)], False),
        ([("localhost", 2379)], [("127.0.0.1", 2379)], False),
        ([("127.0.0.1", 2379)], [("0.0.0.0", 2379)], False),  # noqa: S104  # compared, not bound
        ([("10.0.0.9", 2379)], [("0.0.0.0", 2379)], False),  # noqa: S104
        ([("10.0.0.9", 2389)], [("0.0.0.0", 2379)], True),  # noqa: S104
        ([("10.0.0.9", 2379)], [("127.0.0.1", 2379), ("10.0.0.1", 2379)], True),
        ([("127.0.0.1", 2389)], [("127.0.0.1", 2379)], True),
        ([], [("127.0.0.1", 2379)], False),
        ([("10.0.0.9", 2379)], [], False),
    ],
)
def test_an_etcd_elsewhere_is_external(
    servers: list[tuple[str, int]], listening: list[tuple[str, int]], external: bool
) -> None:
    assert etcd_change.is_external(servers, listening) is external


LOOPBACK, OWN, OTHER = ("127.0.0.1", 2379), ("10.0.0.11", 2379), ("10.0.0.12", 2379)


@pytest.mark.parametrize(
    ("servers", "is_lone"),
    [
        ([LOOPBACK], True),
        ([("localhost", 2379), LOOPBACK], True),
        ([LOOPBACK, OTHER], False),
        ([OTHER], False),
        ([], False),
    ],
)
def test_an_api_server_that_uses_one_member_alone_is_named(servers: list[tuple[str, int]], is_lone: bool) -> None:
    found = etcd_change.lone_member_warning("cp1", servers, [LOOPBACK, OWN])
    assert found.startswith("the API server of cp1 uses this member of etcd alone") is is_lone
    assert bool(found) is is_lone
