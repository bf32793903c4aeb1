# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may import whom below ``plugins/``, read from the source without running it."""

from __future__ import annotations

import ast
import graphlib
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

COLLECTION = ("ansible_collections", "nodecraft", "kubeadm")
STANDARD = frozenset(sys.stdlib_module_names)
# Values in, values out: nothing here reaches a file, a process, the network or the clock.
PURE = frozenset(
    {
        "__future__",
        "ast",
        "base64",
        "binascii",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fnmatch",
        "fractions",
        "functools",
        "graphlib",
        "hashlib",
        "itertools",
        "json",
        "math",
        "operator",
        "posixpath",
        "re",
        "shlex",
        "string",
        "textwrap",
        "types",
        "typing",
    }
)
OWN_IMPORTS = 15
# posixpath is pure only where it computes with names.
PURE_POSIXPATH = frozenset(
    {"basename", "commonpath", "dirname", "isabs", "join", "normpath", "sep", "split", "splitext"}
)
# datetime is pure only where it computes with times.
CLOCK_READERS = frozenset({"now", "today", "utcnow"})
IMPURE_CALLS = frozenset({"__import__", "compile", "eval", "exec", "input", "open", "print"})


@dataclass(frozen=True)
class Place:
    """What the files of one directory may import.

    ``places`` are directories of this collection, ``outside`` the top-level packages from elsewhere.
    Those in ``guarded`` may be missing on the machine, so their import has to survive that.
    What is ``packed`` runs as one file that may be replaced meanwhile, under a name of its own.
    """

    places: tuple[str, ...] = ()
    outside: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()
    pure: bool = False
    packed: bool = False


UTILS = "plugins.module_utils"
STANDARD_NO_PROCESS = STANDARD - {"subprocess"}
PYYAML = frozenset({"yaml"})
PLAN = f"{UTILS}._plan"
# The layers of decisions: each directory with those that it may know besides its own.
_BASE = ("common", "documents", "kubernetes")
LAYERS: dict[str, tuple[str, ...]] = {
    "common": (),
    "documents": ("common",),
    "kubernetes": ("common",),
    "transaction": _BASE,
    "static_pod": (*_BASE, "transaction"),
    "kubelet": (*_BASE, "transaction"),
    "node": (*_BASE, "transaction", "static_pod", "kubelet"),
    "device": (*_BASE, "transaction", "static_pod", "kubelet", "node"),
    "guard": (*_BASE, "transaction", "static_pod", "kubelet", "node"),
    "pod": ("common", "kubernetes"),
    "kubeadm_config": (*_BASE, "transaction", "static_pod"),
    "upgrade": (*_BASE, "transaction", "static_pod", "kubelet", "kubeadm_config"),
}


def _layer(own: str, below: tuple[str, ...]) -> Place:
    return Place(places=tuple(f"{PLAN}.{name}" for name in (own, *below)), outside=PURE, guarded=PYYAML, pure=True)


# The most specific entry counts.
PLACES = {
    **{f"{PLAN}.{name}": _layer(name, below) for name, below in LAYERS.items()},
    # It is packed with the node's own PyYAML.
    f"{UTILS}._engine": Place(places=(f"{UTILS}._engine",), outside=STANDARD, guarded=PYYAML, packed=True),
    f"{UTILS}._node": Place(
        places=(f"{UTILS}._node", f"{UTILS}._engine", f"{UTILS}._plan"), outside=STANDARD_NO_PROCESS, guarded=PYYAML
    ),
    f"{UTILS}._api": Place(
        places=(f"{UTILS}._api", f"{UTILS}._engine", f"{UTILS}._plan"),
        outside=STANDARD_NO_PROCESS,
        guarded=PYYAML | {"kubernetes"},
    ),
    f"{UTILS}._module": Place(
        places=(f"{UTILS}._module", f"{UTILS}._plan"),
        outside=STANDARD_NO_PROCESS | {"ansible.module_utils"},
        # It searches a Python that has PyYAML when the module's own has not.
        guarded=PYYAML,
    ),
    "plugins.modules": Place(
        places=(f"{UTILS}._module", f"{UTILS}._node", f"{UTILS}._api", f"{UTILS}._plan"),
        outside=STANDARD_NO_PROCESS | {"ansible.module_utils"},
    ),
    # Names that Ansible looks for; what they do stands in plugin_utils.
    "plugins.action": Place(places=("plugins.plugin_utils",), outside=frozenset({"__future__"})),
    "plugins.plugin_utils": Place(
        places=("plugins.plugin_utils", f"{UTILS}._engine", f"{UTILS}._plan"),
        outside=STANDARD_NO_PROCESS | {"ansible"},
    ),
    # Decisions for roles and playbooks.
    "plugins.filter": Place(places=(f"{UTILS}._plan",), outside=frozenset({"__future__", "dataclasses", "typing"})),
    "plugins.lookup": Place(
        places=(f"{UTILS}._plan",), outside=frozenset({"__future__", "ansible", "dataclasses", "typing"})
    ),
    "plugins.doc_fragments": Place(outside=frozenset({"__future__"})),
}


@dataclass(frozen=True)
class Import:
    """One imported name, absolute, with its line and whether a missing package is caught."""

    name: str
    line: int
    guarded: bool


def findings(root: Path) -> list[str]:
    """What is wrong below ``root/plugins``, one line each."""
    sources = {
        path.relative_to(root): path.read_text(encoding="utf-8") for path in sorted((root / "plugins").rglob("*.py"))
    }
    found = [finding for path, source in sources.items() for finding in findings_of_file(path, source)]
    graph = own_imports(sources)
    return [*found, *circles(graph), *too_many(graph)]


def own_imports(sources: t.Mapping[Path, str]) -> dict[str, set[str]]:
    """Which files each file imports, all by their dotted names."""
    names = {dotted(path): source for path, source in sources.items()}
    return {
        name: {known for entry in imports_of(ast.parse(source), name) for known in names if is_below(entry.name, known)}
        for name, source in names.items()
    }


def too_many(graph: t.Mapping[str, t.Collection[str]]) -> list[str]:
    """Files whose reader would have to know more others than he can keep in mind."""
    return [
        f"{name}: {len(imports)} files of its own collection are imported, more than {OWN_IMPORTS}"
        for name, imports in graph.items()
        if len(imports) > OWN_IMPORTS
    ]


def circles(graph: t.Mapping[str, t.Collection[str]]) -> list[str]:
    """A circle of files that import each other, if there is one: what they are about cannot be told one without the other."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as exc:
        return [f"{' -> '.join(reversed(exc.args[1]))}: a circle"]
    return []


def dotted(path: Path) -> str:
    """The dotted name of a file; ``path`` is relative to the collection."""
    return ".".join(path.with_suffix("").parts)


def findings_of_file(path: Path, source: str) -> list[str]:
    """What is wrong in one file; ``path`` is relative to the collection."""
    own_name = dotted(path)
    place = place_of(own_name)
    if place is None and own_name == f"{UTILS}.__init__" and not list(imports_of(ast.parse(source), own_name)):
        return []  # Ansible sends an empty file in its place
    if place is None:
        return [f"{path}: no place of the architecture has this directory"]
    tree = ast.parse(source)
    imports = list(imports_of(tree, own_name))
    found = [f"{path}:{entry.line}: {problem}" for entry in imports if (problem := problem_of(entry, place))]
    if own_name.startswith("plugins.modules."):
        sides = {side for side in ("_node", "_api") for entry in imports if is_below(entry.name, f"{UTILS}.{side}")}
        if len(sides) > 1:
            found.append(f"{path}: a module is of the node's side or of the API's side, not of both")
    if place.packed:
        found += [f"{path}:{line}: {problem}" for line, problem in unpackable_imports_of(tree)]
    if place.pure:
        found += [f"{path}:{line}: {name} is not pure" for name, line in impure_uses_of(tree)]
    return found


def place_of(own_name: str) -> Place | None:
    """The rule for a file, by its dotted name."""
    matching = [name for name in PLACES if is_below(own_name, name)]
    return PLACES[max(matching, key=len)] if matching else None


def problem_of(entry: Import, place: Place) -> str | None:
    """What is wrong with one import, if anything."""
    if entry.name.startswith("plugins"):
        if any(is_below(entry.name, allowed) for allowed in place.places):
            return None
        return f"{entry.name} may not be imported here"
    if any(is_below(entry.name, allowed) for allowed in place.outside):
        return None
    if any(is_below(entry.name, allowed) for allowed in place.guarded):
        return None if entry.guarded else f"{entry.name} may be missing: its import needs an except ImportError"
    return f"{entry.name} may not be imported here"


def is_below(name: str, ancestor: str) -> bool:
    """Whether a dotted name is another one or lies below it."""
    return name == ancestor or name.startswith(f"{ancestor}.")


def imports_of(tree: ast.AST, own_name: str) -> t.Iterator[Import]:
    """Every import of a file, also those inside functions: AnsiballZ ships all of them."""
    guarded = {
        id(node)
        for handler in ast.walk(tree)
        if isinstance(handler, ast.Try) and catches_import_error(handler)
        for statement in handler.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(relative_name(alias.name), node.lineno, id(node) in guarded)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, own_name)
            for alias in node.names:
                yield Import(relative_name(f"{base}.{alias.name}"), node.lineno, id(node) in guarded)


def unpackable_imports_of(tree: ast.Module) -> t.Iterator[tuple[int, str]]:
    """Every import that would fail, or come too late, in a package that is packed as a program."""
    guarded = [
        each for node in tree.body if isinstance(node, ast.Try) and catches_import_error(node) for each in node.body
    ]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if node not in (*tree.body, *guarded):
                yield node.lineno, "everything is imported before the program begins, at the top of the file"
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if any(relative_name(name).startswith("plugins") for name in names):
                yield node.lineno, "files of the package are imported relatively"


def absolute(node: ast.ImportFrom, own_name: str) -> str:
    """The dotted name that a ``from`` import starts at."""
    if not node.level:
        return node.module or ""
    parent = own_name.split(".")[: -node.level]
    return ".".join([*parent, node.module] if node.module else parent)


def relative_name(name: str) -> str:
    """A name of this collection without the collection's own name before it."""
    parts = tuple(name.split("."))
    return ".".join(parts[3:]) if parts[:3] == COLLECTION else name


def catches_import_error(statement: ast.Try) -> bool:
    """Whether a ``try`` survives a missing package."""
    caught = [
        name.id
        for handler in statement.handlers
        if handler.type is not None
        for name in ast.walk(handler.type)
        if isinstance(name, ast.Name)
    ]
    return bool({"ImportError", "ModuleNotFoundError"} & set(caught))


def _root(node: ast.expr) -> str | None:
    """The name that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def impure_uses_of(tree: ast.AST) -> t.Iterator[tuple[str, int]]:
    """Every call of an impure builtin, every use of posixpath that reads the file system, and of datetime that reads the clock."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield f"{node.func.id}()", node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "posixpath":
            if node.attr not in PURE_POSIXPATH:
                yield f"posixpath.{node.attr}", node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in CLOCK_READERS and _root(node) in ("date", "datetime"):
            yield f"datetime.{node.attr}", node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "posixpath":
            yield from ((f"posixpath.{a.name}", node.lineno) for a in node.names if a.name not in PURE_POSIXPATH)
