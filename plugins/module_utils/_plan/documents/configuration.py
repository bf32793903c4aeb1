# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the configuration files of components, which may hold secrets: no message quotes them."""

from __future__ import annotations

import functools
import json
import re
import typing as t

from ..common.errors import Refusal

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

T = t.TypeVar("T")
_BOOL, _INT, _FLOAT = (f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float"))
_TEXT_TAGS = frozenset(("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"))
# What go-yaml reads as a value, and PyYAML as a text: the first characters, the tag, the whole text.
_EXTRA_RESOLVERS = (
    ("yYnN", _BOOL, r"[yYnN]"),
    ("-+0", _INT, r"[-+]?0o[0-7_]+"),
    ("-+.0123456789", _FLOAT, r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]{1,2})?"),
)


def is_json(text: str) -> bool:
    """Whether Kubernetes reads a text as JSON: it does so with all that begins with a brace."""
    try:
        return text.lstrip("\ufeff \t\r\n").startswith("{") and isinstance(json.loads(text.lstrip("\ufeff")), dict)
    except (ValueError, RecursionError):
        return False


def load(text: str) -> t.Any:
    """The value of a text in YAML or JSON, read as Kubernetes does. Raises yaml.YAMLError, ValueError."""
    if is_json(text):
        return json.loads(text.lstrip("\ufeff"))
    root = compose(text)
    return None if root is None else construct(root)


def load_first(text: str) -> t.Any:
    """The value of the first document, which is all that components read of their files. Raises yaml.YAMLError, ValueError."""
    if is_json(text):
        return load(text)
    loader = loader_of(text)
    return construct(loader.get_node()) if loader.check_node() else None


def compose(text: str) -> t.Any:
    """The nodes of a text in YAML or JSON. Raises yaml.YAMLError."""
    return single_node(loader_of(text))


def construct(node: t.Any) -> t.Any:
    """The value of a node. Raises yaml.YAMLError, and what PyYAML's constructors let through."""
    return _loader_class()("").construct_document(node)


def loader_of(text: str) -> t.Any:
    """A reader of a text in YAML or JSON. Raises yaml.YAMLError."""
    # A string of JSON holds no tab, and each place stays what it is.
    return _loader_class()(text.replace("\t", " ") if is_json(text) else text)


@functools.cache
def _loader_class() -> t.Any:
    """PyYAML's loader without what is text for Kubernetes: a date, an equals sign, and numbers to the base of 60 such as C(12:30). With what is
    text for PyYAML alone."""
    resolvers = {
        first: [
            (tag, re.compile(f"(?![^:]*:){found.pattern}", found.flags) if tag in (_INT, _FLOAT) else found)
            for tag, found in known
            if tag not in _TEXT_TAGS
        ]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for characters, tag, pattern in _EXTRA_RESOLVERS:
        for first in characters:
            resolvers.setdefault(first, []).append((tag, re.compile(f"(?:{pattern})$")))
    bools = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
    return type("Reader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers, "bool_values": bools})


def first_document(text: str) -> str:
    """What Kubernetes reads where it does not look behind the first document. Raises yaml.YAMLError."""
    loader = loader_of(text)
    if loader.check_node():
        loader.get_node()
    second = _next_document_start(loader)
    return text if second is None else text[: second.index]


def single_node(loader: t.Any) -> t.Any:
    """The nodes of the only document, which a line of dashes may follow. Raises yaml.YAMLError."""
    root = loader.get_node() if loader.check_node() else None
    start = _next_document_start(loader)
    if start is not None:
        context = "expected a single document in the stream"
        raise yaml.composer.ComposerError(context, start, "but found another document", start)
    return root


def is_multi_document_error(exc: Exception) -> bool:
    """Whether a text was not read because it has more than one document."""
    return isinstance(exc, yaml.composer.ComposerError) and "document" in str(exc.context)


def _next_document_start(loader: t.Any) -> t.Any:
    """Where the next document begins that is more than a line of dashes; None without one."""
    while loader.check_node():
        start = loader.peek_event().start_mark
        other = loader.get_node()
        if not isinstance(other, yaml.ScalarNode) or other.value:
            return start
    return None


def describe_tab_error(exc: Exception) -> str | None:
    """What to do about a tab that go-yaml takes for a blank, and PyYAML does not; None for another problem."""
    is_tab = r"'\t' that cannot start" in str(getattr(exc, "problem", ""))
    return (
        "there is a tab, which not every reader of YAML takes for a blank; replace the tab by spaces"
        if is_tab
        else None
    )


def read(content: bytes, kind: str, extract: t.Callable[[t.Any], T]) -> T:
    """What a function extracts from a file's YAML or JSON. Raises Refusal where it holds something else.

    kind: what the file has to contain, such as C(EncryptionConfiguration).
    """
    try:
        data = load_first(content.decode("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # its own message quotes the line
        mark = getattr(exc, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        tab = describe_tab_error(exc)
        raise Refusal(f"{tab}{where}" if tab else f"it is not a single YAML document{where}") from None
    try:
        return extract(data)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Refusal(f"it is not a {kind} that Kubernetes can read") from None
