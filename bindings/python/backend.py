# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The build backend of the package: that of setuptools, which also asks for what builds the library
where the machine lacks it. setup.py has what is built.
"""

import os
import shutil

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F401,F403: the hooks


def get_requires_for_build_wheel(config_settings=None):
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    if not os.environ.get("HEED_BUILD"):
        needed += [] if shutil.which("meson") else ["meson >= 1.0"]
        needed += [] if shutil.which("ninja") else ["ninja"]
    return needed
