# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The safeguards, each with what takes it out and the test that must fail then."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.processes import INSIDE


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One safeguard taken out.

    safeguard: what it is, for people. file: below module_utils. edits: texts, and what stands in their place then. test:
    selects the tests of which one must fail, as pytest's -k takes it.
    """

    safeguard: str
    file: str
    edits: tuple[tuple[str, str], ...]
    test: str

    def take_out(self, tree: Path) -> None:
        """Write the code without it. Raises AssertionError when the safeguard is not found any more."""
        path = tree / INSIDE / self.file
        code = path.read_text(encoding="utf-8")
        for text, instead in self.edits:
            assert text in code, f"{self.safeguard}: {self.file} has no {text!r} any more"
            code = code.replace(text, instead)
        path.write_text(code, encoding="utf-8")


ENGINE, TRANSACTIONS, STATIC_PODS = "_node/engine.py", "_node/transactions.py", "_node/static_pods.py"
DURABLE = "each_step_is_on_the_disk"


def _engine(safeguard: str, text: str, instead: str, test: str) -> Mutation:
    return Mutation(safeguard, ENGINE, ((text, instead),), test)


def _module(safeguard: str, text: str, instead: str, test: str) -> Mutation:
    return Mutation(safeguard, TRANSACTIONS, ((text, instead),), test)


# What a power loss, a kill or a full disk could break.
_FILES = {
    "sync-file": _engine(
        "a file is synced before its rename",
        "                os.fchmod(descriptor, mode)\n                os.fsync(descriptor)\n",
        "                os.fchmod(descriptor, mode)\n",
        DURABLE,
    ),
    "sync-folder": _engine(
        "a folder is synced after a rename in it",
        "            raise\n        sync_folder(folder)\n",
        "            raise\n",
        DURABLE,
    ),
    "sync-new-folder": _engine(
        "a new folder is synced, and the one it is in", "    sync_folder(path)\n    sync_folder(parent)\n", "", DURABLE
    ),
    "sync-removal": _engine(
        "a folder is synced after a removal",
        "        os.unlink(path)\n        sync_folder(os.path.dirname(path))\n",
        "        os.unlink(path)\n",
        DURABLE,
    ),
    "sync-history": _engine(
        "a journal's way into the history is synced",
        "        sync_folder(os.path.dirname(target))\n        sync_folder(os.path.dirname(source))\n",
        "",
        DURABLE,
    ),
    "sync-boot-link": _module(
        "the link for the boot is synced", "    engine.sync_folder(os.path.dirname(link))\n", "", DURABLE
    ),
    "dot-name": _engine(
        "a temporary file's name begins with a dot",
        'f".{name}.nodecraft-kubeadm"',
        'f"{name}.nodecraft-kubeadm"',
        "kubelet_never_sees",
    ),
    "atomic": _engine(
        "a manifest is replaced by a rename",
        "            os.rename(temporary, real)\n",
        "            import shutil; shutil.copyfile(temporary, real); os.unlink(temporary)\n",
        "kubelet_never_sees",
    ),
    "exclusive-open": _engine(
        "a temporary file is always a new one, never a link",
        "os.O_EXCL | os.O_NOFOLLOW",
        "os.O_TRUNC",
        "kubelet_never_sees",
    ),
    "old-temporary": _engine(
        "the temporary file of a killed run is removed first",
        "            os.unlink(temporary)  # of a run that was killed\n",
        "            pass\n",
        "engine_killed_at_any_call and fsync",
    ),
    "no-leftovers": _engine(
        "the temporary file of a write that failed is removed",
        "            with contextlib.suppress(OSError):\n                os.unlink(temporary)\n            raise\n",
        "            raise\n",
        "error_at_any_call_of_the_engine and fsync",
    ),
    "link-kept": _engine(
        "a link stays, its target is replaced",
        "    real = os.path.realpath(path)\n",
        "    real = path\n",
        "f30_a_link_stays",
    ),
    "mode": _engine("the mode is kept", "                os.fchmod(descriptor, mode)\n", "", "f33_f34"),
    "owner": _engine("the owner is kept", "                os.fchown(descriptor, uid, gid)\n", "", "f33_f34"),
    "attributes": _engine(
        "extended attributes are kept", "                _copy_attributes(real, descriptor)\n", "", "f33_f34"
    ),
    "files-first": _engine(
        "files stand before the manifest that names them",
        '            if entry["switch"]:\n                return 1\n',
        '            if entry["switch"]:\n                return -1\n',
        "files_stand_before_the_manifest",
    ),
}

# What keeps others out, and their edits safe.
_OTHERS = {
    "recheck": _engine(
        "a file is looked at again right before the rename",
        "            recheck()\n            os.rename(temporary, real)\n",
        "            os.rename(temporary, real)\n",
        "f27_an_edit_of_somebody_else_at_any_moment",
    ),
    "restore-foreign": Mutation(
        "nothing is restored over the bytes of somebody else",
        ENGINE,
        (
            ("        foreign = self._foreign()\n", "        foreign = []\n"),
            ("            if read_bytes(path) != old:\n", "            if False:\n"),
        ),
        "f27_an_edit_of_somebody_else_at_any_moment",
    ),
    "watched-edits": _engine(
        "nothing is committed over the edit of somebody else",
        '        found = [entry["path"] for entry in self.journal["files"] if not holds(entry["path"], entry[side])]\n',
        "        found = []\n",
        "f27_an_edit_of_somebody_else_in_the_watched_seconds",
    ),
    "lock": _engine("one works at a time", "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", "f24"),
    "busy-status": _engine(
        "an engine that met another is started again",
        '    except Busy as exc:  # systemd tries again\n        sys.stderr.write(f"{arguments[1]}: {exc}\\n")\n        return 1\n',
        "",
        "f24_two_engines",
    ),
    "strays": Mutation(
        "copies beside the manifest are refused",
        STATIC_PODS,
        (("    strays = stray_files(path, others, pod.manifest.pod)\n", "    strays = []\n"),),
        "f31_a_stray_copy",
    ),
    "backups-named": _engine(
        "a copy that appears beside the manifest is named",
        'for path in backups_of(entry["path"])]',
        "for path in ()]",
        "f31_a_copy_that_appears",
    ),
}

# What is taken for healthy, and what follows when it is not.
_PROOF = {
    "soak": _engine(
        "a healthy component is watched for a while",
        'left = ready_since + self.journal["min_ready_seconds"] - now',
        "left = 0",
        "does_not_hold and watched",
    ),
    "restore": _engine(
        "what is not healthy is restored",
        'if self.journal["rollback"] or self._foreign():',
        "if False:",
        "does_not_hold and never",
    ),
    "prove-restore": _engine(
        "what was restored is proven, too",
        'if edited is None and (failure is None or not self.journal["before"]["healthy"]):',
        "if True:",
        "restore_that_does_not_come_up",
    ),
    "uid": _engine(
        "the new process is one of the new pod",
        'return uid not in self.journal["before"]["uids"]',
        "return True",
        "process_of_the_former_pod",
    ),
    "arguments": _engine(
        "the new process runs exactly the new arguments",
        "return len(expected) == len(self.arguments) and all(",
        "return True or all(",
        "other_arguments",
    ),
    "former-gone": _engine(
        "the former process is gone",
        "self.process is not None and not self.others and self.probes_ok",
        "self.process is not None and self.probes_ok",
        "former_process_that_lingers",
    ),
    "probes": _engine(
        "the manifest's probes pass",
        "        probes_ok=all(ok for ok, dummy in results),\n        probes=tuple(text for",
        "        probes_ok=True,\n        probes=tuple(text for",
        "does_not_hold and never",
    ),
    "deadline": _engine(
        "a change has a time limit, also over a restart of the engine",
        'if self.journal.get("deadline") is None:',
        "if True:",
        "limit_holds",
    ),
    "nudge": _engine(
        "a kubelet that starts nothing is started anew, once",
        "            self.watcher.nudge()\n",
        "            pass\n",
        "kubelet_that_does_not_start",
    ),
    "state-file-policy": _engine(
        "a kubelet's state file names the new policy",
        '                if found != entry["policy"]:\n',
        "                if False:\n",
        "policy_that_is_not_used",
    ),
    "confirmation": _engine(
        "a change that asks for a word from outside waits for it",
        "and self._is_confirmed():",
        "and True:",
        "nobody_confirms",
    ),
}

# What carries a change over the death of whoever works on it.
_JOURNAL = {
    "begun": _engine(
        "the journal says that the change begins, before it does",
        "        self._save(phase=APPLYING, before=before)\n",
        "        self.journal.update(phase=APPLYING, before=before)\n",
        "started_anew",
    ),
    "state-file-stopped": _engine(
        "a kubelet's state file is moved while the kubelet is stopped",
        '        self._systemctl("stop", self.watch["unit"])\n',
        "",
        "started_meanwhile",
    ),
    "state-file-place": _engine(
        "a kubelet that somebody else started over the wrong state file is stopped again",
        " and self._have_made_way():\n",
        ":\n",
        "started_meanwhile",
    ),
    "second-copy": _engine(
        "a journal has a second copy",
        "    for path in copies_of(folder, identifier):\n",
        "    for path in copies_of(folder, identifier)[:1]:\n",
        "f44",
    ),
    "checksum": _engine(
        "a journal has a checksum",
        "    if checksum != hashlib.sha256(to_json(journal)).hexdigest():\n",
        "    if False:\n",
        "f44",
    ),
    "copy-checksum": Mutation(
        "the bytes of each file have a checksum",
        ENGINE,
        (
            ("    if checksum != hashlib.sha256(to_json(journal)).hexdigest():\n", "    if False:\n"),
            ('    if hashlib.sha256(content).hexdigest() != version["sha256"]:\n', "    if False:\n"),
        ),
        "f44 and change_a_copy",
    ),
    "format": _engine("a journal of another version is refused", "    if found != FORMAT:\n", "    if False:\n", "f52"),
    "attempts": _engine(
        "an engine that always dies is not started for ever",
        'if self.journal["attempts"] > MAX_ATTEMPTS and',
        "if False and",
        "engine_that_always_dies",
    ),
    "restore-retry": _engine(
        "a restore waits for a disk to get well",
        "limit = self.clock() + RESTORE_SECONDS",
        "limit = self.clock()",
        "restore_waits_for_space",
    ),
    "keep-good": _engine("the last known good is never pruned", "if identifier != good and not", "if not", "f50"),
    "prune": _engine("the history is bounded", "[:-KEEP_HISTORY]", "[:0]", "f50"),
    "private": _engine(
        "a journal is for root only",
        "write_atomically(path, to_json(data), mode=0o600",
        "write_atomically(path, to_json(data), mode=0o644",
        "f49",
    ),
    "umask": _module("all that the service writes is for root only", "UMask=0077\n", "", "f49"),
    "signals": _module(
        "signals do not end the engine for good",
        "RestartForceExitStatus=SIGHUP SIGINT SIGPIPE SIGTERM\n",
        "",
        "whatever_signal",
    ),
    "restart": _module(
        "an engine that died is started again",
        "Restart=on-failure\n",
        "Restart=no\n",
        "engine_killed_at_any_call and rename",
    ),
    "boot": _module(
        "a boot takes up what is open", "        os.symlink(_UNIT_FILE, link)\n", "        pass\n", "started_anew"
    ),
    "stale": _module(
        "a change that was never begun is dropped",
        '        if journal["phase"] == engine.PREPARED:\n            engine.drop_journal(state_folder(name))\n            return None\n',
        "",
        "prepared_and_never_begun",
    ),
    "taken-up": _module(
        "the next run takes up what is open",
        '    _start_unit(name, run)\n    return str(journal["id"])\n',
        "    return None\n",
        "whose_engine_was_stopped",
    ),
}

MUTATIONS: dict[str, Mutation] = {**_FILES, **_OTHERS, **_PROOF, **_JOURNAL}
