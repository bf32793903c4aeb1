# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Sphinx builds the site of modules, roles and guides; the session docs-site of noxfile.py hands it the pages."""

from __future__ import annotations

import typing as t

from pygments.lexers.special import TextLexer

project = "nodecraft.kubeadm"
author = "nodecraft.kubeadm contributors"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "sphinx_ansible_theme"
html_short_title = "nodecraft.kubeadm"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
default_role = "any"
# Links to headings, by the names that GitHub gives them.
myst_heading_anchors = 4
# A reference that leads nowhere is an error, but for those to other collections and to Ansible itself, which are on another site.
nitpicky = True
nitpick_ignore_regex = [
    ("std:ref", r"ansible_collections\.(?!nodecraft\.kubeadm).*"),
    ("std:ref", "action_plugins|ansible_configuration_settings|common_return_values"),
]


def setup(app: t.Any) -> None:
    """Show diagrams as text: what draws them would be loaded from elsewhere."""
    app.add_lexer("mermaid", TextLexer)
