# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The import contract: layers of ``plugins/`` know only those below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts import imports
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

UTILS = "plugins/module_utils"
ABSOLUTE = "ansible_collections.nodecraft.kubeadm.plugins.module_utils"


def test_plugins_keep_the_import_contract() -> None:
    assert imports.findings(ROOT) == []


def test_there_is_something_to_check() -> None:
    assert list((ROOT / "plugins/modules").glob("*.py"))
    assert (ROOT / UTILS / "_engine/program.py").is_file()


# A file, what it imports, and a part of the message.
VIOLATIONS = [
    ("plugins/modules/a.py", "import subprocess", "subprocess may not"),
    ("plugins/modules/a.py", "from ansible.plugins import loader", "ansible.plugins.loader may not"),
    (
        "plugins/modules/a.py",
        "from ..module_utils._node import x\nfrom ..module_utils._api import y",
        "not of both",
    ),
    (f"{UTILS}/_module/a.py", f"from {ABSOLUTE}._node.x import y", "_node.x.y may not"),
    (f"{UTILS}/_module/a.py", "from .. import _api", "_api may not"),
    (f"{UTILS}/_module/a.py", "import yaml", "may be missing"),
    (f"{UTILS}/_module/a.py", "from .._node import x", "_node.x may not"),
    (f"{UTILS}/_plan/common/a.py", "import os", "os may not"),
    (f"{UTILS}/_plan/common/a.py", "def f():\n    import time", "time may not"),
    (f"{UTILS}/_plan/common/a.py", "from datetime import datetime\ndatetime.today()", "datetime.today is not pure"),
    (f"{UTILS}/_plan/common/a.py", "from ansible.module_utils.basic import AnsibleModule", "may not"),
    (f"{UTILS}/_plan/common/a.py", "from ..._node import x", "_node.x may not"),
    (f"{UTILS}/_plan/common/a.py", "def f(p):\n    return open(p)", "open() is not pure"),
    (f"{UTILS}/_plan/common/a.py", "import posixpath\nposixpath.exists('/etc')", "posixpath.exists is not pure"),
    (f"{UTILS}/_plan/common/a.py", "from posixpath import realpath", "posixpath.realpath is not pure"),
    (f"{UTILS}/_plan/common/a.py", "import datetime\ndatetime.datetime.now()", "datetime.now is not pure"),
    (f"{UTILS}/_plan/common/a.py", "import yaml", "may be missing"),
    (f"{UTILS}/_plan/a.py", "", "no place"),
    (f"{UTILS}/_plan/common/a.py", "from ..documents import x", "_plan.documents.x may not"),
    (f"{UTILS}/_plan/documents/a.py", "from ..kubernetes.x import y", "_plan.kubernetes.x.y may not"),
    (f"{UTILS}/_plan/kubernetes/a.py", "from .. import documents", "_plan.documents may not"),
    (f"{UTILS}/_plan/transaction/a.py", "from ..kubelet import x", "_plan.kubelet.x may not"),
    (f"{UTILS}/_plan/static_pod/a.py", "from ..kubelet import x", "_plan.kubelet.x may not"),
    (f"{UTILS}/_plan/kubelet/a.py", f"from {ABSOLUTE}._plan.node import x", "_plan.node.x may not"),
    (f"{UTILS}/_plan/node/a.py", "def f():\n    from ..guard import x", "_plan.guard.x may not"),
    (f"{UTILS}/_plan/device/a.py", "from ..guard import x", "_plan.guard.x may not"),
    (f"{UTILS}/_plan/guard/a.py", "from ..pod import x", "_plan.pod.x may not"),
    (f"{UTILS}/_plan/pod/a.py", "from ..node import x", "_plan.node.x may not"),
    (f"{UTILS}/_plan/pod/a.py", "import os", "os may not"),
    (f"{UTILS}/_node/a.py", "import subprocess", "subprocess may not"),
    (f"{UTILS}/_node/a.py", "from ansible.module_utils.basic import AnsibleModule", "may not"),
    (f"{UTILS}/_node/a.py", "from .._module import x", "_module.x may not"),
    (f"{UTILS}/_node/a.py", "import requests", "requests may not"),
    (f"{UTILS}/_engine/a.py", "from .._node import x", "_node.x may not"),
    (f"{UTILS}/_engine/a.py", "from .._plan import x", "_plan.x may not"),
    (f"{UTILS}/_engine/a.py", f"from {ABSOLUTE}._engine import x", "imported relatively"),
    (f"{UTILS}/_engine/a.py", "def f():\n    from . import x", "at the top of the file"),
    (f"{UTILS}/_engine/a.py", "if True:\n    import ssl", "at the top of the file"),
    (f"{UTILS}/_engine/a.py", "import yaml", "yaml may be missing"),
    (
        f"{UTILS}/_engine/a.py",
        "def f():\n    try:\n        import yaml\n    except ImportError:\n        pass",
        "at the top",
    ),
    (f"{UTILS}/_plan/common/a.py", "from ..._engine import x", "_engine.x may not"),
    ("plugins/modules/a.py", "from ..module_utils._engine import x", "_engine.x may not"),
    (f"{UTILS}/_api/a.py", "from .._node import x", "_node.x may not"),
    (f"{UTILS}/_api/a.py", "from .._module import x", "_module.x may not"),
    (f"{UTILS}/_api/a.py", "import urllib3", "urllib3 may not"),
    (f"{UTILS}/_api/a.py", "import kubernetes", "kubernetes may be missing"),
    (
        f"{UTILS}/_api/a.py",
        "from ansible_collections.kubernetes.core.plugins.module_utils import x",
        "may not",
    ),
    (f"{UTILS}/_node/a.py", "try:\n    import kubernetes\nexcept ImportError:\n    pass", "kubernetes may not"),
    ("plugins/action/a.py", "from ..module_utils._plan import x", "_plan.x may not"),
    (
        "plugins/action/a.py",
        "from ansible.plugins.action import ActionBase",
        "ansible.plugins.action.ActionBase may not",
    ),
    ("plugins/plugin_utils/a.py", "from ..module_utils._node import x", "_node.x may not"),
    ("plugins/plugin_utils/a.py", "from ..action import x", "action.x may not"),
    ("plugins/plugin_utils/a.py", "import subprocess", "subprocess may not"),
    ("plugins/modules/a.py", "from ..plugin_utils import x", "plugin_utils.x may not"),
    ("plugins/filter/a.py", "from ..plugin_utils import x", "plugin_utils.x may not"),
    ("plugins/filter/a.py", "import os", "os may not"),
    ("plugins/lookup/a.py", "from ..plugin_utils import x", "plugin_utils.x may not"),
    ("plugins/test/a.py", "", "no place"),
]


@pytest.mark.parametrize(
    ("path", "source", "message"),
    VIOLATIONS,
)
def test_a_breach_is_found(tmp_path: Path, path: str, source: str, message: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(source, encoding="utf-8")
    (found,) = imports.findings(tmp_path)
    assert message in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("plugins/modules/a.py", "from ..module_utils._module import x\nfrom ..module_utils._node import y"),
        ("plugins/modules/a.py", "from ansible.module_utils.basic import AnsibleModule\nimport json"),
        (f"{UTILS}/_plan/common/a.py", "from . import b\nfrom dataclasses import dataclass\nimport collections.abc"),
        (f"{UTILS}/_plan/node/a.py", "from ..kubelet.x import y\nfrom ..common import x"),
        (f"{UTILS}/_plan/guard/a.py", "from ..node.x import y\nfrom ..kubernetes import x"),
        (f"{UTILS}/_plan/common/a.py", "import posixpath\nposixpath.join('/etc', 'x')"),
        (f"{UTILS}/_plan/common/a.py", "import datetime\ndatetime.timedelta(days=1)"),
        (f"{UTILS}/_plan/common/a.py", "try:\n    import yaml\nexcept ImportError:\n    yaml = None"),
        (f"{UTILS}/_node/a.py", "import os, socket\nfrom .._plan import x\nfrom . import y"),
        (f"{UTILS}/_node/a.py", "from .._engine.files import x"),
        (f"{UTILS}/_engine/a.py", "import subprocess, os, json\nfrom .b import x"),
        (f"{UTILS}/_engine/a.py", "try:\n    import yaml\nexcept ImportError:\n    yaml = None"),
        (f"{UTILS}/_api/a.py", "from .._engine.tls import x"),
        (f"{UTILS}/_api/a.py", "try:\n    import kubernetes\nexcept ImportError:\n    kubernetes = None"),
        ("plugins/action/a.py", "from __future__ import annotations\nfrom ..plugin_utils.x import y"),
        (
            "plugins/plugin_utils/a.py",
            "from ansible.plugins.action import ActionBase\nfrom ..module_utils._plan import x",
        ),
    ],
)
def test_what_is_allowed_passes(path: str, source: str) -> None:
    assert imports.findings_of_file(Path(path), source) == []


def test_a_circle_is_found() -> None:
    sources = {
        "a": "from .b import x",
        "b": "def f():\n    from . import c",
        "c": f"from {ABSOLUTE}._plan.pod import a",
    }
    files = {Path(f"{UTILS}/_plan/pod/{name}.py"): source for name, source in sources.items()}
    (found,) = imports.circles(imports.own_imports(files))
    assert found.endswith(": a circle")
    assert all(f"_plan.pod.{name}" in found for name in sources)
    assert imports.circles(imports.own_imports({**files, Path(f"{UTILS}/_plan/pod/c.py"): "import json"})) == []


def test_file_with_too_many_imports_is_named() -> None:
    parts = [f"p{number}" for number in range(16)]
    source = "\n".join(f"from . import {part}" for part in parts[1:])
    files = {Path(f"{UTILS}/_plan/pod/{name}.py"): "" for name in parts}
    whole = Path(f"{UTILS}/_plan/pod/whole.py")
    assert imports.too_many(imports.own_imports({**files, whole: source})) == []
    (found,) = imports.too_many(imports.own_imports({**files, whole: f"{source}\nfrom .p0 import x"}))
    assert found.endswith("pod.whole: 16 files of its own collection are imported, more than 15")


def test_every_directory_of_decisions_is_a_layer() -> None:
    directories = {
        path.name for path in (ROOT / UTILS / "_plan").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert directories == set(imports.LAYERS)
