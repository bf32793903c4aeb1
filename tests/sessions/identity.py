# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another identity than the machine's, so that no test passes because of where it was written.

``unshare --mount --uts python identity.py COMMAND...`` runs a command as on another machine, as another user, in another clone: the boot id,
the machine id, the host name, HOME, the time zone, the languages and /tmp are not those of this machine, and this clone is at a path with a space and
no longer where it was. The command gets what was outside in the variable OUTER, and ``remaining`` returns what is still the same.

What stays the machine's: its kernel, network, programs and interpreters, and the ids of user and group. Standard library only, for Python 3.9.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import time
import typing as t
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTER = "OUTER_IDENTITY"
TEMPORARY = Path("/tmp")  # noqa: S108  # the file system, not a file in it
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# A container may have neither; then there is nothing that a test could depend on.
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))

# Of each the first that is not the machine's own: it may be there, or have that language. Zones as rules of POSIX, for a bare Debian has no names
# of them, and for an unknown one the C library takes UTC without a word: Chatham Islands, where it is often tomorrow already, and Marquesas.
ZONES = {-45900: "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45", 34200: "<-0930>9:30"}
CLONES = (f"{TEMPORARY}/another place/kubeadm", f"{TEMPORARY}/a third place/kubeadm")
# Hardly a machine has these, so they take effect nowhere: LC_ALL is stronger, and C.UTF-8 and POSIX are all that a bare Debian has for it.
LANGUAGES = ("tr_TR.UTF-8", "de_AT.UTF-8")
# Variables that belong to a user, a login or a machine, by their first letters.
PERSONAL = (
    "HOST",
    "KUBECONFIG",
    "K8S_AUTH_",
    "LANG",
    "LOGNAME",
    "MAIL",
    "OLDPWD",
    "SSH_",
    "SUDO_",
    "TMPDIR",
    "USER",
    "XDG_",
)

REFUSAL = "these tests run under another identity than this machine's, which is not allowed here"
ADVICE = (
    "Run the same command as root; in a container, with the capability SYS_ADMIN and without a profile of seccomp or AppArmor that forbids"
    " mounts. A plain pytest, see CONTRIBUTING.md, needs none of that, and finds less."
)

T = t.TypeVar("T")


class NotAllowed(Exception):
    """Why this machine has no other identity to give, and what to do: one sentence."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """What a test can see of a machine and of a user's place on it. Texts may be empty where there is none; seconds west of UTC."""

    boot_id: str
    machine_id: str
    host_name: str
    time_zone: int
    language: str
    home: str
    temporary_device: int
    clone: str

    @classmethod
    def observed(cls) -> Identity:
        """Of this process."""
        return cls(
            boot_id=BOOT_ID.read_text(encoding="ascii").strip(),
            machine_id="".join(path.read_text(encoding="ascii") for path in MACHINE_IDS if path.exists()).strip(),
            host_name=os.uname().nodename,
            time_zone=time.timezone,
            language=os.environ.get("LANG", ""),
            home=str(Path.home()),
            temporary_device=TEMPORARY.stat().st_dev,
            clone=str(ROOT),
        )


def remaining() -> list[str]:
    """What is the same as outside, of a process that was started with another identity. Nothing in any other process."""
    if OUTER not in os.environ:
        return []
    outer, inner = json.loads(os.environ[OUTER]), dataclasses.asdict(Identity.observed())
    same = [name for name, value in inner.items() if value == outer[name] and (name, value) != ("machine_id", "")]
    return same + ([] if " " in inner["clone"] else ["kind of path, without a space"])


def foreign_command(
    command: t.Sequence[str], run: t.Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
) -> list[str]:
    """A command as one that starts it with another identity: by root, or by a user whom the kernel lets be root in a namespace of his own.

    Raises NotAllowed when neither works.
    """
    # Of the second way the command sees nothing but the mounts: it has the ids of its user again.
    as_user = ("unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}")
    reasons = []
    for options, prefix in ((("--mount", "--uts"), ()), (("--user", "--map-root-user", "--mount", "--uts"), as_user)):
        start = ["unshare", *options, sys.executable, __file__, *prefix]
        try:
            done = run([*start, "true"], check=False, capture_output=True, text=True)
        except OSError as error:
            raise NotAllowed(f"{REFUSAL} ({error}). {ADVICE}") from error
        if done.returncode == 0:
            return [*start, *command]
        reasons.append(f"unshare {' '.join(options)}: {done.stderr.strip() or f'status {done.returncode}'}")
    raise NotAllowed(f"{REFUSAL} ({'; '.join(reasons)}). {ADVICE}")


def main() -> None:
    """Change the identity, and become the command."""
    outer = Identity.observed()
    clone = Path(first_other(CLONES, outer.clone))
    try:
        change_identity(clone)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{error} {getattr(error, 'stderr', '') or ''}".strip())
    environment = foreign_environment(os.environ, outer, clone)
    command = [relocate(argument, clone) for argument in sys.argv[1:]]
    os.chdir(clone)
    os.execvpe(command[0], command, environment)  # noqa: S606  # there is no shell


def first_other(choices: t.Iterable[T], own: T) -> T:
    """The first choice that is not the machine's own."""
    return next(choice for choice in choices if choice != own)


def change_identity(clone: Path) -> None:
    """Mount other ids, an empty /tmp, and in it this clone; name the host. Raises OSError or CalledProcessError."""
    os.chdir(ROOT)  # It may lie below /tmp.
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(TEMPORARY))
    clone.mkdir(parents=True)
    mount("--no-canonicalize", "--bind", "/proc/self/cwd", str(clone))
    if ROOT.exists():
        mount("-t", "tmpfs", "-o", "ro", "tmpfs", str(ROOT))
    home_beside(clone).mkdir()
    host_name, ids = f"host-{uuid.uuid4().hex[:8]}", {BOOT_ID: str(uuid.uuid4())}
    ids.update(dict.fromkeys(MACHINE_IDS, uuid.uuid4().hex))
    for path, text in ids.items():
        if path.exists():
            source = TEMPORARY / "id"
            source.write_text(f"{text}\n", encoding="ascii")
            source.chmod(0o444)
            mount("--bind", str(source), str(path))
            source.unlink()
    try:
        socket.sethostname(host_name)
    except OSError as error:  # in a container without the capability, although it may mount
        raise OSError(error.errno, error.strerror, "host name") from error


def mount(*arguments: str) -> None:
    """Call mount. Raises CalledProcessError."""
    subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)


def home_beside(clone: Path) -> Path:
    """The empty HOME of the other user."""
    return clone.with_name("home")


def foreign_environment(environment: t.Mapping[str, str], outer: Identity, clone: Path) -> dict[str, str]:
    """The variables of another user, who has this clone at another place, and what the identity was outside."""
    inherited = {name: relocate(value, clone) for name, value in environment.items() if not name.startswith(PERSONAL)}
    user = {"HOME": str(home_beside(clone)), "LOGNAME": "stranger", "USER": "stranger"}
    place = {"LANG": first_other(LANGUAGES, outer.language), "TZ": ZONES[first_other(ZONES, outer.time_zone)]}
    return {**inherited, **user, **place, OUTER: json.dumps(dataclasses.asdict(outer))}


def relocate(text: str, clone: Path) -> str:
    """A text whose paths into this clone lead to another place."""
    return re.sub(rf"(?<![\w./-]){re.escape(str(ROOT))}(?=[/:]|$)", str(clone), text)


if __name__ == "__main__":
    main()
