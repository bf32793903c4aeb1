# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which certificates end too early for an upgrade."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import prerequisites
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import BROKEN, WARNS, Finding
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import AUTHORITY, SIGNED

HOUR, DAY = 3600, 86400


def findings(signed: dict[str, t.Any], authority: dict[str, t.Any]) -> list[Finding]:
    entries = {"certificates": [{**SIGNED, **signed}], "certificateAuthorities": [{**AUTHORITY, **authority}]}
    return prerequisites.certificate_findings(entries)


@pytest.mark.parametrize(
    ("entry", "impact", "words"),
    [
        ({}, None, ""),
        ({"residualTime": -8}, BROKEN, "it has expired (2027-11-25T22:45:45Z), so connections with it fail"),
        ({"residualTime": 0}, BROKEN, "renew it before, with kubeadm certs renew apiserver."),
        (
            {"residualTime": 1},
            WARNS,
            "it ends in 0 hours (2027-11-25T22:45:45Z). The upgrade renews it when it reaches",
        ),
        ({"residualTime": DAY - 1}, WARNS, "it ends in 23 hours"),
        ({"residualTime": DAY}, None, ""),
        (
            {"residualTime": DAY, "externallyManaged": True},
            WARNS,
            "it ends in 1 days (2027-11-25T22:45:45Z), and the upgrade",
        ),
        ({"residualTime": 30 * DAY, "externallyManaged": True}, None, ""),
        ({"residualTime": -1, "externallyManaged": True}, BROKEN, "have it signed again by its authority."),
        ({"missing": True, "residualTime": 0}, BROKEN, "kubeadm init phase certs apiserver."),
        ({"missing": True, "residualTime": 0, "name": "admin.conf"}, BROKEN, "kubeadm init phase kubeconfig admin."),
        ({"missing": True, "residualTime": 0, "name": "super-admin.conf"}, None, ""),
        ({"residualTime": -1, "name": "super-admin.conf"}, BROKEN, "kubeadm certs renew super-admin.conf"),
    ],
)
def test_certificates(entry: dict[str, t.Any], impact: str | None, words: str) -> None:
    found = findings(entry, {})
    assert [each.impact for each in found] == ([impact] if impact else [])
    if found:
        assert words in found[0].message
        assert (found[0].component, found[0].field) == ("node", "certificates")
        assert found[0].key == entry.get("name", "apiserver")


@pytest.mark.parametrize(
    ("entry", "impact", "words"),
    [
        (
            {"residualTime": -8},
            BROKEN,
            "the authority has expired (2036-11-22T22:45:45Z), and with it all that it signed",
        ),
        ({"residualTime": 0}, BROKEN, "no upgrade renews an authority. Replace it manually"),
        ({"residualTime": 365 * DAY - 1}, WARNS, "the authority ends in 364 days (2036-11-22T22:45:45Z)"),
        ({"residualTime": 365 * DAY}, None, ""),
        ({"residualTime": 0, "missing": True}, None, ""),
    ],
)
def test_authorities(entry: dict[str, t.Any], impact: str | None, words: str) -> None:
    found = findings({}, entry)
    assert [each.impact for each in found] == ([impact] if impact else [])
    if found:
        assert words in found[0].message
        assert found[0].key == "ca"
