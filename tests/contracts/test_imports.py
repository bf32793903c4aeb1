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


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
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
        (f"{UTILS}/_plan/a.py", "import os", "os may not"),
        (f"{UTILS}/_plan/a.py", "def f():\n    import time", "time may not"),
        (f"{UTILS}/_plan/a.py", "from datetime import datetime\ndatetime.today()", "datetime.today is not pure"),
        (f"{UTILS}/_plan/a.py", "from ansible.module_utils.basic import AnsibleModule", "may not"),
        (f"{UTILS}/_plan/a.py", "from .._node import x", "_node.x may not"),
        (f"{UTILS}/_plan/a.py", "def f(p):\n    return open(p)", "open() is not pure"),
        (f"{UTILS}/_plan/a.py", "import posixpath\nposixpath.exists('/etc')", "posixpath.exists is not pure"),
        (f"{UTILS}/_plan/a.py", "from posixpath import realpath", "posixpath.realpath is not pure"),
        (f"{UTILS}/_plan/a.py", "import datetime\ndatetime.datetime.now()", "datetime.now is not pure"),
        (f"{UTILS}/_plan/a.py", "import yaml", "may be missing"),
        (f"{UTILS}/_node/a.py", "import subprocess", "subprocess may not"),
        (f"{UTILS}/_node/a.py", "from ansible.module_utils.basic import AnsibleModule", "may not"),
        (f"{UTILS}/_node/a.py", "from .._module import x", "_module.x may not"),
        (f"{UTILS}/_node/a.py", "import requests", "requests may not"),
        (f"{UTILS}/_engine/a.py", "from .._node import x", "_node.x may not"),
        (f"{UTILS}/_engine/a.py", "from .._plan import x", "_plan.x may not"),
        (f"{UTILS}/_engine/a.py", f"from {ABSOLUTE}._engine import x", "imported relatively"),
        (f"{UTILS}/_engine/a.py", "def f():\n    from . import x", "at the top of the file"),
        (f"{UTILS}/_engine/a.py", "if True:\n    import ssl", "at the top of the file"),
        (f"{UTILS}/_engine/a.py", "import yaml", "yaml may not"),
        (f"{UTILS}/_plan/a.py", "from .._engine import x", "_engine.x may not"),
        ("plugins/modules/a.py", "from ..module_utils._engine import x", "_engine.x may not"),
        (f"{UTILS}/_api/a.py", "from .._node import x", "_node.x may not"),
        (f"{UTILS}/_api/a.py", "from .._module import x", "_module.x may not"),
        (f"{UTILS}/_api/a.py", "import urllib3", "urllib3 may be missing"),
        (
            f"{UTILS}/_api/a.py",
            "from ansible_collections.kubernetes.core.plugins.module_utils import x",
            "may be missing",
        ),
        (f"{UTILS}/_node/a.py", "try:\n    import kubernetes\nexcept ImportError:\n    pass", "kubernetes may not"),
        ("plugins/action/a.py", "from ..module_utils._node import x", "_node.x may not"),
        ("plugins/action/a.py", "import subprocess", "subprocess may not"),
        ("plugins/lookup/a.py", "", "no room"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, path: str, source: str, complaint: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(source, encoding="utf-8")
    (found,) = imports.findings(tmp_path)
    assert complaint in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("plugins/modules/a.py", "from ..module_utils._module import x\nfrom ..module_utils._node import y"),
        ("plugins/modules/a.py", "from ansible.module_utils.basic import AnsibleModule\nimport json"),
        (f"{UTILS}/_plan/a.py", "from . import b\nfrom dataclasses import dataclass\nimport collections.abc"),
        (f"{UTILS}/_plan/a.py", "import posixpath\nposixpath.join('/etc', 'x')"),
        (f"{UTILS}/_plan/a.py", "import datetime\ndatetime.timedelta(days=1)"),
        (f"{UTILS}/_plan/a.py", "try:\n    import yaml\nexcept ImportError:\n    yaml = None"),
        (f"{UTILS}/_node/a.py", "import os, socket\nfrom .._plan import x\nfrom . import y"),
        (f"{UTILS}/_node/a.py", "from .._engine.files import x"),
        (f"{UTILS}/_engine/a.py", "import subprocess, os, json\nfrom .b import x"),
        (f"{UTILS}/_api/a.py", "try:\n    import kubernetes\nexcept ImportError:\n    kubernetes = None"),
        ("plugins/action/a.py", "from ansible.plugins.action import ActionBase\nfrom ..module_utils._plan import x"),
    ],
)
def test_what_is_allowed_passes(path: str, source: str) -> None:
    assert imports.findings_of_file(Path(path), source) == []
