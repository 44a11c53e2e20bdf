"""How the documentation is built: ``python -m sphinx -W docs docs/_build``."""

from __future__ import annotations

from importlib.metadata import version as installed

project = "isinglearn"
author = "isinglearn contributors"
copyright = "isinglearn contributors"
release = version = installed("isinglearn")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "isinglearn"
# Types stand in the signature once; the descriptions say what they mean.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_use_ivar = True
