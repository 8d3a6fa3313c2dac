# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Cases of heed-conform as items of pytest.

    @pytest.mark.heed_conform(attention, cases=50)
    def test_attention(heed_case):
        heed_case.check()

Each case that the callable takes is an item, whose id is the line that makes it again. The module
is loaded with pytest, so it imports heed only where the mark is used.
"""

from __future__ import annotations

import pytest

DRAWN = ("only", "seed", "arrays", "refuse", "mixed", "timeout")


class CaseItem:
    """One case for a test: check() computes and judges it."""

    def __init__(self, line, kernel, options):
        self.line, self.kernel, self.options = line, kernel, options

    def check(self, kernel=None):
        """Fails the test with the reason and the line; skips it, if the kernel refuses the case."""
        import heed

        __tracebackhide__ = True
        result = heed.conform(kernel or self.kernel, line=self.line, **self.options)
        if result.failed:
            failure = result.failures[0]
            pytest.fail(f"{failure}\n{failure.traceback}".rstrip(), pytrace=False)
        if not result.passed:
            pytest.skip(f"refused: {', '.join(result.refused) or 'the case'}")
        return result


def _drawn(kernel=None, cases=50, lines=None, **options):
    """The mark's arguments as lines and items."""
    import heed

    if lines is None:
        lines = heed.cases(kernel, cases, **{name: value for name, value in options.items()
                                            if name in DRAWN})
    made = {name: value for name, value in options.items() if name not in ("only", "seed")}
    return [pytest.param(CaseItem(line, kernel, made), id=line) for line in lines]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "heed_conform(kernel, cases=50, ...): the fixture heed_case is each of so many "
        "cases that the kernel takes; further arguments as heed.conform has them")


def pytest_generate_tests(metafunc):
    if "heed_case" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("heed_conform")
    if not mark:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: heed_case needs the mark "
                                "heed_conform(kernel, cases=...)")
    metafunc.parametrize("heed_case", _drawn(*mark.args, **mark.kwargs))
