# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(placement_guard), for the runner: admission policies that are tried before they are written."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from http import HTTPStatus

from .._plan.common.batch import PartialFailure, join_first
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import Verdict
from .._plan.guard import plan as placement_guard
from .._plan.guard import policies as placement_policies
from .._plan.guard import trial as placement_trial
from .._plan.guard.desired import Desired, parse_desired, refuse_unserved
from .._plan.guard.plan import GuardPlan
from .._plan.guard.policies import BINDING, GUARD_KINDS, POLICY, Guard, ObjectKey
from .._plan.guard.protection import (
    WORKLOADS,
    Cluster,
    Protection,
    enforcing_policies,
    plan_protection,
    refuse_unprotected,
)
from .._plan.guard.trial import Case
from .._plan.kubernetes.control_plane_nodes import role_label
from .api_steps import ApiSteps, diff_entry, retry_on_conflict
from .client import ApiError, Client, Connect, Json, NoResponse, Params
from .objects import read_each, server_version

Objects = t.Mapping[ObjectKey, Json]

_POLL_INTERVAL = 0.5  # seconds
_CONFLICTS = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)  # others changed, created or removed the object
_TYPE_CHECK_TIMEOUT = 5.0  # seconds that the controller manager has to check expressions


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads. guard: the values of its policies. bodies: the objects as they would be sent. defaulted: the same as the API server
    would store them, with its defaults. errors: of those that it refuses.
    """

    cluster: Cluster
    protection: Protection
    guard: Guard
    bodies: t.Sequence[Json]
    defaulted: Objects
    errors: t.Sequence[str]


class GuardObjects:
    """The policies and bindings of guards in the API. Reads, writes and removes them, and rolls back what a run wrote.

    It is apart from the steps because trial, change and rollback write with the same rules: what others changed meanwhile stays, and what
    was written is recorded whatever fails.

    written: the objects of the guard itself that were written or removed, in this order, until they are rolled back.
    """

    def __init__(self, client: Client, *, workers: int) -> None:
        self._client = client
        self._workers = workers
        self.written: list[ObjectKey] = []

    def read(self, keys: t.Sequence[ObjectKey]) -> dict[ObjectKey, Json]:
        """Read objects, as far as they exist."""
        paths = {"/".join(key): placement_policies.path_of(*key) for key in keys}
        found = read_each(self._client, paths, workers=self._workers)
        return {key: found["/".join(key)] for key in keys if "/".join(key) in found}

    def fill_defaults(self, bodies: t.Iterable[Json], former: Objects) -> tuple[dict[ObjectKey, Json], list[str]]:
        """Have the API server fill in its defaults, without which objects cannot be compared. Returns the objects, and the errors of others.

        former: the objects as they were read.
        """
        defaulted: dict[ObjectKey, Json] = {}
        errors: list[str] = []
        for body in bodies:
            key = placement_guard.key_of(body)
            try:
                defaulted[key] = self._send_fresh(body, former.get(key), None, dry_run=True)
            except ApiError as exc:
                errors.append(f"{' '.join(key)}: {exc}")
        return defaulted, errors

    def write(self, body: Json, *, former: Json | None, defaulted: Json | None) -> None:
        """Write an object of the guard. former: as it was read. defaulted: as the API server would store it, if that is known."""
        self._send_fresh(body, former, defaulted, dry_run=False)
        self.written.append(placement_guard.key_of(body))

    def remove(self, keys: t.Iterable[ObjectKey]) -> None:
        """Remove objects of the guard."""
        for key in keys:
            self.delete(key, dry_run=False)
            self.written.append(key)

    def roll_back(self, former: Objects) -> list[str]:
        """Restore the guard as it was read. Returns the problems."""
        problems = self.delete_each((key for key in reversed(self.written) if key not in former), dry_run=False)
        replaced = [former[key] for kind in GUARD_KINDS for key in self.written if key in former and key[0] == kind]
        problems += filter(None, map(self._restore, replaced))
        if not problems:
            self.written.clear()
        return problems

    def send(self, body: Json, *, dry_run: bool) -> Json:
        """Create or replace an object, once."""
        kind, name = placement_guard.key_of(body)
        if "resourceVersion" in body["metadata"]:
            return self._client.replace(placement_policies.path_of(kind, name), body, dry_run=dry_run)
        return self._client.create(placement_policies.path_of(kind), body, dry_run=dry_run)

    def delete(self, key: ObjectKey, *, dry_run: bool) -> None:
        """Remove an object, if it is there."""
        try:
            self._client.delete(placement_policies.path_of(*key), dry_run=dry_run)
        except ApiError as exc:
            if exc.status != HTTPStatus.NOT_FOUND:
                raise

    def delete_each(self, keys: t.Iterable[ObjectKey], *, dry_run: bool) -> list[str]:
        """Remove objects one by one, also after failures. Returns the problems."""
        return [*filter(None, (self._removal_problem(key, dry_run=dry_run) for key in keys))]

    def _removal_problem(self, key: ObjectKey, *, dry_run: bool) -> str:
        try:
            self.delete(key, dry_run=dry_run)
        except KubeadmError as exc:
            return f"{' '.join(key)} could not be removed: {exc}"
        return ""

    def _send_fresh(self, body: Json, former: Json | None, defaulted: Json | None, *, dry_run: bool) -> Json:
        """Send an object, once more when another client wrote its status or labels since it was read, as Kubernetes itself does."""
        key = placement_guard.key_of(body)

        def replan(_refusal: ApiError) -> Json | None:
            nonlocal body
            existing = self.read([key]).get(key)
            if existing and not placement_guard.differs(existing, defaulted):
                return existing  # our own write, whose response was lost
            if not existing or placement_guard.differs(existing, former):
                raise KubeadmError(
                    f"{' '.join(key)}: another client changed it in the meantime, perhaps another run. Run the task again."
                )
            body = placement_guard.as_replacement(body, existing)
            return None

        return retry_on_conflict(
            lambda: self.send(body, dry_run=dry_run),
            replan,
            cause=f"{' '.join(key)}: another client changed it",
            statuses=_CONFLICTS,
        )

    def _restore(self, former: Json) -> str:
        """Write an object as it was read. Returns the problem, if any."""
        key = placement_guard.key_of(former)
        body = placement_guard.as_new_object(former)

        def attempt() -> Json:
            return self.send(placement_guard.as_replacement(body, self.read([key]).get(key)), dry_run=False)

        try:
            retry_on_conflict(attempt, lambda _refusal: None, cause="another client changed it", statuses=_CONFLICTS)
        except KubeadmError as exc:
            return f"{' '.join(key)}: {str(exc).rstrip('.')}"
        return ""


class TrialPods:
    """The pods that trial and proof create as dry runs in one namespace, to test how an API server applies the policies.

    timeout: seconds that it has to put a policy into force.
    """

    def __init__(self, *, namespace: str, timeout: int) -> None:
        self._namespace = namespace
        self._timeout = timeout

    def try_create(self, case: Case, client: Client) -> tuple[Json | None, str]:
        """Create a pod as a dry run. Returns the pod as the API server would store it, and the message of a refusal."""
        warnings = client.warnings.copy()
        try:
            return client.create(f"namespaces/{self._namespace}/pods", case.pod, dry_run=True), ""
        except NoResponse:
            raise
        except ApiError as exc:
            return None, str(exc)
        finally:  # warnings about a pod that is never created
            client.warnings = warnings

    def find_problems(self, cases: t.Iterable[Case], client: Client) -> list[str]:
        """Compare the results of pods with what is expected of the policies, and wait for these to come into force. Returns the problems."""
        return list(filter(None, (self._find_problem(case, client) for case in cases)))

    def _find_problem(self, case: Case, client: Client) -> str:
        waits = bool(case.messages) or case.annotation
        error = ""

        def is_stable() -> bool:
            nonlocal error
            pod, refusal = self.try_create(case, client)
            error = placement_trial.case_problem(case, pod, refusal, seconds=self._timeout, namespace=self._namespace)
            return not error or not waits or (placement_trial.is_expression_error(refusal) and not case.or_former)

        client.poll(is_stable, self._timeout, _POLL_INTERVAL)
        return error


class GuardTrial:
    """The trial before a guard is written: a copy of its policies is created, tried on pods of dry runs, and removed again.

    It is apart because it writes objects of its own, which are not part of a rollback. copy_remains: whether some could not be removed.
    """

    def __init__(
        self,
        client: Client,
        objects: GuardObjects,
        pods: TrialPods,
        desired: Desired,
        *,
        note_unverified: t.Callable[[str], None],
    ) -> None:
        self._client = client
        self._objects = objects
        self._pods = pods
        self._desired = desired
        self._note_unverified = note_unverified
        self.copy_remains = False

    def try_guard(self, guard: Guard) -> None:
        """Try a guard. The copy is removed in any case. Raises Refusal."""
        problems: list[str] = []
        created: list[ObjectKey] = []
        try:
            for body in placement_trial.trial_objects(guard):
                self._write_copy(body, created)
            cases = placement_trial.trial_cases(guard, self._desired.trial_namespace)
            problems += [*self._pods.find_problems(cases, self._client), *self._type_warnings()]
        except KubeadmError as exc:
            problems.append(str(exc))
        finally:
            remaining = self._objects.delete_each(reversed(created), dry_run=False)
            # What remains of it only concerns pods with its label, and the next run removes it.
            self.copy_remains = bool(remaining)
            problems += remaining
        if problems:
            details = " ".join(filter(None, [*problems, placement_trial.exception_hint(self._desired, problems)]))
            raise Refusal(f"The guard was not changed, because its trial failed. {details}")

    def check_plain_pod(self, guard: Guard) -> list[str]:
        """The problem when a harmless pod is refused, without which nothing could be tried."""
        case = placement_trial.harmless_case(guard, self._desired.trial_namespace)
        accepted, refusal = self._pods.try_create(case, self._client)
        return [] if accepted else [placement_trial.trial_error(self._desired, refusal)]

    def _write_copy(self, body: Json, created: list[ObjectKey]) -> None:
        """Write an object of the copy. created: gets each object that may exist, also after an error."""
        key = placement_guard.key_of(body)
        created.append(key)
        try:
            self._objects.send(body, dry_run=False)
        except ApiError as exc:
            if exc.status not in _CONFLICTS:
                raise
            created.remove(key)
            raise KubeadmError(
                f"{' '.join(key)}: another run is trying this guard at the moment. Run the task again."
            ) from exc

    def _type_warnings(self) -> list[str]:
        """The warnings of the controller manager about the expressions of the copy, once it has checked them."""
        key = (POLICY, placement_policies.trial_name(self._desired.name))
        policy: Json = {}

        def is_checked() -> bool:
            nonlocal policy
            policy = self._objects.read([key]).get(key, {})
            return "observedGeneration" in (policy.get("status") or {})

        if not self._client.poll(is_checked, _TYPE_CHECK_TIMEOUT, _POLL_INTERVAL):
            reason = f"the controller manager did not look at them within {_TYPE_CHECK_TIMEOUT:.0f} s"
            self._note_unverified(f"whether the types in the guard's expressions are right: {reason}")
        return placement_trial.type_warnings(policy)


class GuardProof:
    """The proof that the guard in force refuses what it should, and nothing else, by pods of dry runs.

    It is apart from the trial because it writes nothing, so that it also runs in check mode, and because it tests each API server.
    """

    def __init__(
        self, client: Client, pods: TrialPods, desired: Desired, *, note_unverified: t.Callable[[str], None]
    ) -> None:
        self._client = client
        self._pods = pods
        self._desired = desired
        self._note_unverified = note_unverified

    def verify(self, observed: Observed, *, written: bool) -> None:
        """Verify that an enforced guard refuses what it should and nothing else, preferably on a node that it did not protect before.

        written: whether this run wrote it, and rolls it back when it does not work.
        """
        if not (self._desired.present and self._desired.enforce):
            return
        node = next(iter((*observed.protection.added, *observed.protection.nodes)), None)
        cases = placement_trial.proof_cases(observed.guard, self._desired.trial_namespace, node)
        problems = self._pods.find_problems(cases, self._client)
        if problems:
            advice = [placement_trial.exception_hint(self._desired, problems)]
            advice += [] if written else [placement_trial.disable_remedy(self._desired)]
            details = " ".join(filter(None, [*problems, *advice]))
            raise KubeadmError(f"The guard {self._desired.name} does not work as desired. {details}")
        self._verify_each_server(cases, sum(map(bool, map(role_label, observed.cluster.nodes.values()))))

    def _verify_each_server(self, cases: t.Sequence[Case], planes: int) -> None:
        """Verify the same on each API server, where there are several: each has plugins of its own, and a load balancer hides which one responds.

        planes: how many nodes are control planes. An API server that is down, or that does not register its address, is not listed.
        """
        try:
            urls = self._client.list_server_urls()
        except KubeadmError as exc:
            self._note_unverified(f"whether each API server uses the guard: {exc}")
            return
        if len(urls) < max(planes, 1):
            known = f"the Service kubernetes names {len(urls)} of them, and {planes} nodes are control planes"
            self._note_unverified(f"whether each API server uses the guard: {known}")
        for url in urls if len(urls) > 1 else ():
            try:
                problems = self._pods.find_problems(cases, self._client.at(url))
            except KubeadmError as exc:
                self._note_unverified(f"whether the API server {url} uses the guard: {exc}")
                continue
            if problems:
                raise KubeadmError(
                    f"The guard {self._desired.name} does not work as desired on the API server {url}. {' '.join(problems)}"
                )


class PlacementGuardSteps(ApiSteps[Observed, GuardPlan]):
    """One run of the module: what it reads, the order of trial, change, proof and rollback, and the result."""

    def __init__(self, params: Params, *, connect: Connect, diff: bool) -> None:
        super().__init__(params, connect=connect, diff=diff)
        # The result, whichever step fails.
        self._protection = Protection()
        self._enforced = False
        self._summary: list[str] = []
        self._removed_leftovers = False

    # ---- the steps -----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _desired(self) -> Desired:
        return parse_desired(self._params)

    @functools.cached_property
    def _objects(self) -> GuardObjects:
        return GuardObjects(self._api, workers=self._params["concurrency"])

    @functools.cached_property
    def _pods(self) -> TrialPods:
        return TrialPods(namespace=self._params["trial_namespace"], timeout=self._params["wait_timeout"])

    @functools.cached_property
    def _trial(self) -> GuardTrial:
        note = self._unverified.append
        return GuardTrial(self._api, self._objects, self._pods, self._desired, note_unverified=note)

    def _check_options(self) -> None:
        dummy = self._desired
        if self._params["wait_timeout"] < 1:
            raise Refusal(f"invalid wait_timeout {self._params['wait_timeout']}: must be at least 1.")

    def read(self, *, dry: bool) -> Observed:
        """Read the guard that exists and the nodes, and have the API server fill in its defaults in the desired objects."""
        served, desired = self._read_served_kinds(), self._desired
        names = [desired.name, placement_policies.trial_name(desired.name)]
        keys = [(kind, name) for kind in GUARD_KINDS if kind in served for name in names]
        objects = self._objects.read(keys)
        placement_guard.refuse_foreign(objects)
        nodes = {node["metadata"]["name"]: node for node in self._api.list("nodes")} if desired.present else {}
        cluster = Cluster(objects, nodes, self._read_workloads(), self._read_other_guards())
        self._enforced = placement_guard.was_enforced(desired, cluster)
        self._protection = protection = plan_protection(desired, cluster, dry=dry)
        bodies = placement_guard.build_bodies(desired, cluster, protection)
        defaulted, errors = self._objects.fill_defaults(bodies, cluster.objects)
        guard = placement_guard.build_guard(desired, protection)
        return Observed(cluster, protection, guard, bodies, defaulted, errors)

    def _observed_nodes(self, observed: Observed) -> t.Iterable[Json]:
        return observed.cluster.nodes.values()

    def plan(self, observed: Observed) -> GuardPlan:
        """Work out what to write and what to remove."""
        return placement_guard.plan(
            self._desired, observed.cluster, observed.protection, observed.bodies, observed.defaulted
        )

    def verify(self, observed: Observed, plan: GuardPlan, *, dry: bool) -> t.Sequence[str]:
        """Verify that an unchanged guard is in force, by pods of dry runs, so in check mode too."""
        self._verify(observed)
        return ()

    def rehearse(self, observed: Observed, plan: GuardPlan) -> Verdict:
        """The API server validates the objects and the removals without storing them, and accepts a pod as the trial needs it."""

        def find_errors() -> t.Sequence[str]:
            if observed.errors:
                return observed.errors
            problems = self._dry_run_removals(observed, plan)
            if plan.writes:
                problems += self._trial.check_plain_pod(observed.guard)
            return problems

        return self._rehearse_by_dry_run(find_errors, each="every object")

    def apply(self, observed: Observed, plan: GuardPlan) -> None:
        """Try the guard, write it, remove what is no longer desired, and verify it. Raises Incomplete at a failure after a write."""
        try:
            self._apply_with_rollback(observed, plan)
        except KubeadmError as exc:
            if not (self._removed_leftovers or self._trial.copy_remains or self._objects.written):
                raise
            raise PartialFailure(str(exc), changed=True) from exc

    def _apply_with_rollback(self, observed: Observed, plan: GuardPlan) -> None:
        for key in plan.leftovers:
            self._objects.delete(key, dry_run=False)
            self._removed_leftovers = True
        if plan.writes:
            self._trial.try_guard(observed.guard)
        try:
            for body in plan.writes:
                key = placement_guard.key_of(body)
                former, defaulted = observed.cluster.objects.get(key), observed.defaulted.get(key)
                self._objects.write(body, former=former, defaulted=defaulted)
            self._objects.remove(plan.removals)
            self._verify(observed)
        except KubeadmError as exc:
            # A guard that is to be removed is not restored because a part of it remains.
            if not (self._objects.written and self._desired.present):
                raise
            raise KubeadmError(f"{str(exc).rstrip('.')}. {self._roll_back(observed.cluster.objects)}") from exc

    def _roll_back(self, former: Objects) -> str:
        """Restore the guard as it was read, because this one does not work as desired. Returns a message with the outcome."""
        problems = self._objects.roll_back(former)
        if problems:
            return f"Not all of it could be rolled back: {join_first(problems)}. {placement_trial.disable_remedy(self._desired)}"
        existed = any(name == self._desired.name for _kind, name in former)
        return "It was rolled back." if existed else "It was removed again."

    def _verify(self, observed: Observed) -> None:
        proof = GuardProof(self._api, self._pods, self._desired, note_unverified=self._unverified.append)
        proof.verify(observed, written=bool(self._objects.written))

    def finish(self, observed: Observed, plan: GuardPlan, *, dry: bool) -> t.Sequence[str]:
        """Record the state for the result. Raises Incomplete when a node was tainted meanwhile."""
        desired = self._desired
        if desired.present and desired.enforce and not dry:
            nodes = {node["metadata"]["name"]: node for node in self._api.list("nodes")}
            try:
                refuse_unprotected(desired, nodes, self._protection, observed.cluster.guards)
            except Refusal as exc:
                raise PartialFailure(f"{exc} Run it again.", changed=bool(plan.operations)) from exc
        self._enforced = desired.present and desired.enforce
        limits = self._final_warnings()
        self._summary = placement_guard.report_lines(desired, self._protection, plan.operations, dry=dry) + limits
        return limits

    def report(self, observed: Observed | None, plan: GuardPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        protection, operations = self._protection, plan.operations if plan else ()
        return {
            "enforced": self._enforced,
            "nodes": list(protection.nodes),
            "added": list(protection.added),
            "removed": list(protection.removed),
            "stale": list(protection.stale),
            "untainted": list(protection.untainted),
            "unverified": self._unverified,
            "summary": self._summary,
            "diff": [_diff_entry(observed, operation.key) for operation in operations]
            if observed and self._diff
            else [],
        }

    # ---- reading and dry runs ------------------------------------------------------------------------------------------

    def _read_served_kinds(self) -> set[str]:
        """The kinds of the guard that the API has."""
        resource_list = self._api.find(placement_policies.GROUP) or {}
        served = {entry["kind"] for entry in resource_list.get("resources") or []} & set(GUARD_KINDS)
        if self._desired.present:
            refuse_unserved(self._desired, served, lambda: server_version(self._api))
        return served

    def _read_workloads(self) -> dict[str, list[Json]]:
        """The workloads that might lose their pods; none are read when tolerations do not matter."""
        if not (self._desired.present and self._desired.require_request):
            return {}
        return {kind: self._api.list(path) for kind, path in WORKLOADS.items()}

    def _read_other_guards(self) -> dict[str, Json]:
        """The policies of all other enforced guards; none are read when this one is not enforced."""
        if not (self._desired.present and self._desired.enforce):
            return {}
        owner_label = "=".join(next(iter(placement_policies.OWNER.items())))
        policies = {
            (kind, each["metadata"]["name"]): each
            for kind in (POLICY, BINDING)
            for each in self._api.list(placement_policies.path_of(kind), labelSelector=owner_label)
        }
        return enforcing_policies(policies, self._desired.name)

    def _dry_run_removals(self, observed: Observed, plan: GuardPlan) -> list[str]:
        """The problems of all removals, those of the trial's copy included, which an account without the right would leave there."""
        keys = [*plan.leftovers, *plan.removals, *(_trial_keys(observed.guard) if plan.writes else [])]
        return self._objects.delete_each(dict.fromkeys(keys), dry_run=True)


def _trial_keys(guard: Guard) -> list[ObjectKey]:
    """The objects of a trial, in the order in which they are removed."""
    return [placement_guard.key_of(body) for body in reversed(placement_trial.trial_objects(guard))]


def _diff_entry(observed: Observed, key: ObjectKey) -> Json:
    before, after = observed.cluster.objects.get(key), observed.defaulted.get(key)
    return diff_entry(" ".join(key), placement_guard.format_for_diff(before), placement_guard.format_for_diff(after))
