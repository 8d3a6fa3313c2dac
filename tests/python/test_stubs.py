# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What type checkers are told is what is there: each stub has the names and the parameters of its
module, and each module that makes its names as it is imported has a stub."""

import ast
import inspect
import pathlib
import unittest

import heed
from heed import constants, mechanisms

FOLDER = pathlib.Path(heed.__file__).parent


def stub_of(module):
    return ast.parse((FOLDER / (module.__name__.split(".")[-1] + ".pyi")).read_text("utf-8"))


class Stubs(unittest.TestCase):
    def test_the_package_is_typed(self):
        self.assertTrue((FOLDER / "py.typed").is_file())

    def test_constants(self):
        told = [line.target.id for line in stub_of(constants).body if isinstance(line, ast.AnnAssign)]
        self.assertEqual(told, constants.__all__)
        self.assertGreater(len(told), 100)
        self.assertTrue(all(type(getattr(constants, name)) is int for name in told))

    def test_functions_of_mechanisms(self):
        told = {line.name: line for line in stub_of(mechanisms).body
                if isinstance(line, ast.FunctionDef)}
        self.assertEqual(list(told), mechanisms.__all__)
        for name, line in told.items():
            made = inspect.signature(getattr(mechanisms, name).plan).parameters.values()
            for kind, arguments in ((inspect.Parameter.POSITIONAL_OR_KEYWORD, line.args.args),
                                    (inspect.Parameter.KEYWORD_ONLY, line.args.kwonlyargs)):
                self.assertEqual([one.arg for one in arguments],
                                 [one.name for one in made if one.kind == kind], name)
            self.assertTrue(all(one.annotation for one in line.args.args + line.args.kwonlyargs))
            needed = [one.name for one in made if one.default is inspect.Parameter.empty]
            self.assertEqual(len(line.args.args) - len(line.args.defaults), len(needed), name)

    def test_every_name_that_stubs_import_is_there(self):
        for module in (constants, mechanisms):
            for line in stub_of(module).body:
                if isinstance(line, ast.ImportFrom) and line.level:
                    source = __import__("heed." + line.module, fromlist=["x"])
                    for name in line.names:
                        self.assertTrue(hasattr(source, name.name), f"{line.module}.{name.name}")

    def test_the_names_of_the_package_are_in_stubs_or_sources(self):
        self.assertLessEqual(set(constants.__all__) | set(mechanisms.__all__), set(heed.__all__))
        for name in heed.__all__:
            self.assertTrue(hasattr(heed, name), name)
