# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx: how the pages that render.py has put together become HTML."""

import os

project = "heed"
release = os.environ["HEED_VERSION"]
html_title = f"heed {release}"
author = copyright = "the heed authors"
extensions = ["breathe", "myst_parser"]
breathe_projects = {"heed": os.environ["HEED_XML"]}
breathe_default_project = "heed"
breathe_domain_by_extension = {"h": "c"}
breathe_default_members = ("members", "undoc-members")
primary_domain = "c"
myst_heading_anchors = 4            # as on the pages of code hosts, so that one link serves both
html_theme = "furo"
html_theme_options = {"sidebar_hide_name": False}
html_static_path = ["static"]
html_css_files = ["heed.css"]
html_copy_source = False
html_show_sphinx = False
# Types of the C library and of vendors have no page here.
nitpick_ignore_regex = [("c:identifier", r"u?int\d+_t|size_t|cl_\w+|CU\w+|MPI_Comm|HEED_API|HEED_MUST_CHECK")]
