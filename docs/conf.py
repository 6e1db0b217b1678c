"""How the documentation is built: `sphinx-build -W docs site`. Nothing is fetched; warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference

import appell

project = "appell"
author = "The appell developers"
version = release = appell.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
suppress_warnings = ["ref.python"]  # attributes of the same name in several classes: types in docstrings name no class

html_theme = "furo"
html_title = f"appell {release}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_copyright = html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
        "color-brand-primary": "#0072b2",
        "color-brand-content": "#0072b2",
    },
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_links_external_new_tab = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autoclass_content = "class"
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_admonition_for_examples = False

reference.write(Path(__file__).parent / "api")


def setup(app) -> None:
    app.connect("autodoc-process-docstring", reference.as_sentence, priority=400)  # before napoleon reads it
    app.connect("autodoc-process-docstring", reference.as_written)
