# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the steps of every state module: read, plan, rehearse, apply, report. Whether it is check mode, and so ends before *apply*, is
decided here alone, and passed to the steps for which it matters."""

from __future__ import annotations

import os
import typing as t

from .._plan.common.errors import KubeadmError, Refusal, join_failures
from .._plan.common.verdict import NOT_NEEDED, SKIPPED, Verdict

if t.TYPE_CHECKING:  # pragma: no cover
    from ansible.module_utils.basic import AnsibleModule


class Plan(t.Protocol):
    """What a planner returns: empty operations mean that there is nothing to do."""

    @property
    def operations(self) -> t.Sequence[t.Any]:
        """What will be done, in order."""

    @property
    def warnings(self) -> t.Sequence[str]:
        """Warnings for the user."""


Common = t.TypeVar("Common")
Observed = t.TypeVar("Observed")
Planned = t.TypeVar("Planned", bound=Plan)


class Steps(t.Protocol[Observed, Planned]):
    """The steps of a module. Each gets the results of the steps before it, and may raise KubeadmError.

    dry: nothing may be changed or recorded. C(rehearse) and C(apply) do the same in each mode.
    """

    @property
    def unrehearsed(self) -> str:
        """Why a change needs no rehearsal before C(apply); empty where it does."""

    def session(self, *, dry: bool) -> t.ContextManager[None]:
        """Check the options, and hold what is needed from reading to applying, such as a lock."""

    def read(self, *, dry: bool) -> Observed:
        """Read what is there."""

    def notes(self, observed: Observed, *, dry: bool) -> t.Sequence[str]:
        """Warnings about what was read."""

    def plan(self, observed: Observed) -> Planned:
        """Work out the change."""

    def preflight(self, observed: Observed, plan: Planned) -> t.Sequence[str]:
        """Check whether the change can work. Returns warnings."""

    def verify(self, observed: Observed, plan: Planned, *, dry: bool) -> t.Sequence[str]:
        """Where nothing is to be changed: check that it works, so that no task succeeds over something broken, and record
        its state. Returns warnings."""

    def rehearse(self, observed: Observed, plan: Planned) -> Verdict:
        """Try the change where it can do no harm."""

    def apply(self, observed: Observed, plan: Planned) -> None:
        """Make the change, or start it."""

    def finish(self, observed: Observed, plan: Planned, *, dry: bool) -> t.Sequence[str]:
        """Wait for effects and raise errors, also where nothing was to be changed. Returns warnings."""

    def report(self, observed: Observed | None, plan: Planned | None) -> dict[str, t.Any]:
        """The result. Must work after any step, and have the same keys after each. None: that step was not reached, or failed."""


class Plans(t.Protocol[Common, Observed, Planned]):
    """The steps of a module that plans several changes and makes none."""

    def read(self) -> Common:
        """Read what all of them have in common. May raise KubeadmError."""

    def members(self, common: Common) -> t.Mapping[str, Steps[Observed, Planned]]:
        """The steps of each, by name."""

    def report(self, common: Common | None, plans: t.Mapping[str, dict[str, t.Any]]) -> dict[str, t.Any]:
        """The result. Must work after any step, and have the same keys after each.

        plans: by name the result of each as its own module returns it in check mode, always with C(failed) and C(msg).
        """


def run_steps(module: AnsibleModule, steps: Steps[Observed, Planned], *, rehearse: bool) -> t.NoReturn:
    """Run the steps of a module and end it."""
    result, failure = _carry_out(module, steps, rehearse=rehearse, dry=module.check_mode, applies=not module.check_mode)
    if failure is not None:
        module.fail_json(msg=failure, **result)
    module.exit_json(**result)


def run_plans(module: AnsibleModule, plans: Plans[Common, Observed, Planned], *, rehearse: bool) -> t.NoReturn:
    """Run the steps of several plans, one after the other, also after failures, and end the module."""
    results: dict[str, dict[str, t.Any]] = {}
    try:
        common = plans.read()
    except (KubeadmError, OSError) as exc:
        module.fail_json(msg=_error_message(exc), changed=False, **plans.report(None, results))
    for name, steps in plans.members(common).items():
        result, failure = _carry_out(module, steps, rehearse=rehearse, dry=module.check_mode, applies=False)
        results[name] = {**result, "failed": failure is not None, "msg": failure}
    failures = {name: result["msg"] for name, result in results.items() if result["failed"]}
    if failures:
        module.fail_json(msg=join_failures(failures), changed=False, **plans.report(common, results))
    module.exit_json(changed=False, **plans.report(common, results))


def _carry_out(
    module: AnsibleModule, steps: Steps[Observed, Planned], *, rehearse: bool, dry: bool, applies: bool
) -> tuple[dict[str, t.Any], str | None]:
    """Read, plan, rehearse, apply, report: (the result, the error or None)."""
    verdict, changed, failure = Verdict(SKIPPED, "the run ended before"), False, None
    observed: Observed | None = None
    plan: Planned | None = None
    try:
        with steps.session(dry=dry):
            observed = steps.read(dry=dry)
            warn_all(module, steps.notes(observed, dry=dry))
            plan = steps.plan(observed)
            warn_all(module, (*plan.warnings, *steps.preflight(observed, plan)))
            if not plan.operations:
                verdict = Verdict(NOT_NEEDED, "nothing changes")
                warn_all(module, steps.verify(observed, plan, dry=dry))
            else:
                verdict = _rehearse(steps, observed, plan, enabled=rehearse, applies=applies)
                if rehearse and verdict.verdict == SKIPPED:
                    module.warn(f"not rehearsed: {verdict.message}")
                if verdict.is_refused:
                    raise Refusal(f"refused in the rehearsal, nothing was changed: {verdict.message}")
                warn_all(module, verdict.warnings)
                if applies:
                    steps.apply(observed, plan)
            warn_all(module, steps.finish(observed, plan, dry=dry))
            changed = bool(plan.operations)
    except (KubeadmError, OSError) as exc:
        changed, failure = getattr(exc, "changed", False), _error_message(exc, " Nothing was changed.")
    return {"changed": changed, "rehearsal": _rehearsal_result(verdict), **steps.report(observed, plan)}, failure


def _rehearse(
    steps: Steps[Observed, Planned], observed: Observed, plan: Planned, *, enabled: bool, applies: bool
) -> Verdict:
    if not enabled:
        return Verdict(SKIPPED, "rehearse is off")
    if steps.unrehearsed and applies:
        return Verdict(NOT_NEEDED, steps.unrehearsed)
    return steps.rehearse(observed, plan)


def warn_all(module: AnsibleModule, messages: t.Sequence[str]) -> None:
    """Show each message as a warning."""
    for message in messages:
        module.warn(message)


def run_info(module: AnsibleModule, read: t.Callable[[], dict[str, t.Any]], **always: t.Any) -> t.NoReturn:
    """Run a module that only reads. read: returns the result, which has C(failed) and C(msg) where it is incomplete. always: keys that the result
    has even when nothing was read."""
    run_follower(module, lambda _dry: read(), **always)


def run_follower(module: AnsibleModule, follow: t.Callable[[bool], dict[str, t.Any]], **always: t.Any) -> t.NoReturn:
    """Run a module that reports a change that is made elsewhere. follow: gets whether nothing may be recorded or confirmed. always: as above."""
    try:
        found = follow(module.check_mode)
    except (KubeadmError, OSError) as exc:
        module.fail_json(msg=_error_message(exc), **always)
    result = {"changed": False, **always, **found}
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(**result)


def _error_message(exc: Exception, outcome: str = "") -> str:
    if isinstance(exc, OSError):
        return f"{os.uname().nodename}: {exc.filename or 'a file'}: {exc.strerror or exc}.{outcome}"
    return str(exc)


def _rehearsal_result(verdict: Verdict) -> dict[str, t.Any]:
    return {
        "verdict": verdict.verdict,
        "message": verdict.message,
        "seconds": verdict.seconds,
        "command": list(verdict.command),
        "warnings": list(verdict.warnings),
    }
