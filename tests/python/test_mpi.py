# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of ranks from Python: it has the words of one plan of the whole, a model says what
plans say, and what one rank does wrong all ranks are told. Run by tests/mpi/ranks.py.

Where mpi4py is built for another MPI than libheed-mpi, only that this is said is tested.
"""

import gc
import os
import pathlib
import runpy
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import heed
import heed.mpi
import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, RANKS = WORLD.rank, WORLD.size
WRONG = RANKS - 1           # the rank that makes a mistake
CHUNK = heed.CHUNK
SAME_MPI = MPI.Get_library_version().rstrip("\0").strip() == heed.mpi._version_of_library()
needs_ranks = unittest.skipUnless(SAME_MPI, "mpi4py is of another MPI than libheed-mpi")


def draw(seed, *shape, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape, dtype="float32").astype(dtype)


def like(array):
    """What the array of all ranks is like."""
    return heed.mpi.whole(array.shape, array.dtype)


def cut(n, of=1, ranks=RANKS):
    """Where the parts of n rows or keys begin and end, at multiples of `of`."""
    units = -(-n // of)
    return [min(units * r // ranks * of, n) for r in range(ranks + 1)]


def words(array):
    return np.ascontiguousarray(array).view("uint8")


class Case:
    """An attention of one source, whole and in parts."""

    def __init__(self, n_q, n_k, *, d=16, d_v=16, dtype="float32", **named):
        self.q, self.k = draw(1, 1, 4, n_q, d, dtype=dtype), draw(2, 1, 2, n_k, d, dtype=dtype)
        self.v, self.named = draw(3, 1, 2, n_k, d_v, dtype=dtype), named
        self.rows, self.keys = cut(n_q), cut(n_k, CHUNK)

    def description(self):
        return like(self.q), like(self.k), like(self.v)

    def part(self, rank=RANK, **more):
        first, key = self.rows[rank], self.keys[rank]
        return heed.mpi.Part(**{"first_row": first, "n_rows": self.rows[rank + 1] - first,
                                "keys": [(key, self.keys[rank + 1] - key)], **more})

    def own(self):
        """The rank's q, k and v, apart from the whole."""
        rows, keys = (slice(*at[RANK:RANK + 2]) for at in (self.rows, self.keys))
        return {"q": self.q[:, :, rows].copy(), "k": self.k[:, :, keys].copy(),
                "v": self.v[:, :, keys].copy()}

    def plan(self, comm=WORLD, part=None, **more):
        return heed.mpi.Plan(comm, part or self.part(), *self.description(),
                             **{**self.named, **more})

    def wanted(self):
        """This rank's rows of one plan of the whole."""
        made = heed.attention(self.q, self.k, self.v, numerics="exact", **self.named)
        rows = slice(*self.rows[RANK:RANK + 2])
        return made[:, :, rows] if isinstance(made, np.ndarray) else \
            tuple(one[:, :, rows] for one in made)


class Ranks(unittest.TestCase):
    def assert_words(self, got, wanted):
        """Of all ranks, so that none goes on alone."""
        got, wanted = ((one if isinstance(one, tuple) else (one,)) for one in (got, wanted))
        equal = [g.shape == w.shape and g.dtype == w.dtype and np.array_equal(words(g), words(w))
                 for g, w in zip(got, wanted)]
        self.assertEqual(WORLD.allgather(equal), [[True] * len(wanted)] * RANKS)

    def assert_told(self, name, field, make, rank=WRONG):
        """Every rank raises the same heed.Error, which names the rank."""
        try:
            make()
            said = None
        except heed.Error as error:
            said = error.name, error.field, str(error)
        all_said = WORLD.allgather(said)
        self.assertEqual(all_said, [said] * RANKS)
        self.assertIsNotNone(said)
        self.assertEqual(said[:2], (name, field))
        self.assertTrue(said[2].startswith(f"{name}: rank {rank}: "), said[2])


@needs_ranks
class Words(Ranks):
    def test_all_ranks_are_there(self):
        self.assertEqual(RANKS, int(os.environ["HEED_RANKS"]))

    def test_patterns(self):
        see = [heed.window(300, 20), heed.global_tokens(heed.constant([1, 2000]), rows=True),
               heed.everything(step=101)]
        slopes, sinks = np.array([0.5, 0.25, 0.125, 0.0625], "f"), draw(4, 4)
        n = 3 * CHUNK + 100
        for name, case in {
                "window": Case(n, n, terms=see, lse=True),
                "causal": Case(n, n, causal=True, d_v=24, sinks=sinks),
                "bias": Case(n, n, biases=[heed.alibi(slopes)], terms=[heed.window(64)]),
                "half": Case(n, n, terms=see, dtype="float16", softcap=3.0),
                "decoding": Case(2, n, causal=True, align="end", lse=True),
                "no key": Case(5, 0)}.items():
            with self.subTest(name), case.plan() as plan:
                own = case.own()
                for _ in range(2):
                    self.assert_words(plan(**own), case.wanted())

    def test_views_of_the_whole_are_read_and_written_where_they_lie(self):
        case = Case(2 * CHUNK, 2 * CHUNK, terms=[heed.window(100)])
        rows, keys = (slice(*at[RANK:RANK + 2]) for at in (case.rows, case.keys))
        o = np.full((1, 2 * CHUNK, 4, 16), 7, "f").transpose(0, 2, 1, 3)
        part = case.part(q=case.q[:, :, rows], o=o[:, :, rows],
                         kv=[(case.k[:, :, keys], case.v[:, :, keys])])
        with case.plan(part=part) as plan:
            self.assertIs(plan(), part.o)
            self.assert_words(o[:, :, rows], case.wanted())
            other = o[:, :, rows].copy()
            refused = 0
            try:        # it lies otherwise than the part that was planned
                plan(o=other)
            except (ValueError, heed.Error):
                refused = 1
            self.assertEqual(WORLD.allreduce(refused), RANKS)

    def test_several_sources(self):
        q, memory, text = draw(1, 1, 4, 300, 16), draw(2, 1, 2, 40, 16), draw(3, 1, 2, 2500, 16)
        terms = [heed.window(50)]
        wanted = heed.attention(q, sources=[heed.Source(memory, memory),
                                            heed.Source(text, text, terms)],
                                align="end", numerics="exact")
        rows, keys = cut(300), cut(2500, CHUNK)
        at, held = slice(*rows[RANK:RANK + 2]), slice(*keys[RANK:RANK + 2])
        part = heed.mpi.Part(rows[RANK], rows[RANK + 1] - rows[RANK],
                             [(0, 40), (keys[RANK], keys[RANK + 1] - keys[RANK])])
        sources = [heed.Source(like(memory), like(memory)),
                   heed.Source(like(text), like(text), terms)]
        with heed.mpi.Plan(WORLD, part, like(q), sources=sources, align="end") as plan:
            got = plan(q=q[:, :, at].copy(), **{
                "sources[0].k": memory, "sources[0].v": memory,
                "sources[1].k": text[:, :, held].copy(), "sources[1].v": text[:, :, held].copy()})
        self.assert_words(got, wanted[:, :, at])

    def test_every_rank_may_have_a_communicator_of_its_own(self):
        case = Case(700, 1500, terms=[heed.window(32)], align="end")
        alone = WORLD.Split(RANK)
        part = heed.mpi.Part(0, 700, [(0, 1500)])
        with case.plan(alone, part) as plan:
            got, info = plan(q=case.q, k=case.k, v=case.v), plan.info()
        alone.Free()
        self.assertEqual((info.rank, info.ranks, info.bytes_in), (0, 1, 0))
        self.assert_words(got[:, :, slice(*case.rows[RANK:RANK + 2])], case.wanted())


@needs_ranks
class Models(Ranks):
    def test_a_model_says_what_plans_say(self):
        n = 5 * CHUNK
        for named in ({"terms": [heed.window(100)]}, {"causal": True}, {"terms": [], "n_q": 2}):
            case = Case(named.pop("n_q", n), n, align="end", **named)
            parts = [case.part(r) for r in range(RANKS)]
            said = heed.mpi.model(parts, *case.description(), **case.named)
            with case.plan() as plan:
                info = plan.info()
            self.assertEqual(len(said), RANKS)
            self.assertEqual(said[RANK]._replace(host_bytes=0), info._replace(host_bytes=0))
            self.assertGreater(info.host_bytes, 0)
            self.assertIs(type(info.rows_move), bool)
            moved = WORLD.allreduce(info.bytes_in)
            self.assertEqual(moved, WORLD.allreduce(info.bytes_out))
            self.assertEqual(moved > 0, RANKS > 1)

    def test_rows_travel_unless_keys_are_asked_for(self):
        case = Case(1, 4 * CHUNK)
        parts = [heed.mpi.Part(0, int(r == 0), case.part(r).keys) for r in range(RANKS)]
        with case.plan(part=parts[RANK]) as plan:
            self.assertEqual(plan.info().rows_move, RANKS > 1 and RANK == 0)
        parts[RANK].move_keys = True
        with case.plan(part=parts[RANK]) as plan:
            self.assertFalse(plan.info().rows_move)

    def test_the_figures_are_those_of_the_header(self):
        names = [name for name, _ in heed._native.STRUCT["heed_mpi_props"]._fields_]
        self.assertEqual(["size", *heed.mpi.Info._fields], names)


@needs_ranks
class Mistakes(Ranks):
    def setUp(self):
        self.case = Case(3 * CHUNK + 100, 3 * CHUNK + 100, terms=[heed.window(300)])
        self.n = 3 * CHUNK + 100

    def planned(self, part=None, **named):
        """One rank has another part or description than it should."""
        if RANK == WRONG:
            return self.case.plan(part=part and self.case.part(**part), **named)
        return self.case.plan()

    def test_of_parts(self):
        for name, field, part in (
                ("HEED_E_VALUE", "parts.first_row", {"first_row": self.n + 1}),
                ("HEED_E_VALUE", "parts.first_row", {"n_rows": -1}),
                ("HEED_E_VALUE", "parts.keys[0]", {"keys": [(0, self.n + 1)]}),
                ("HEED_E_SHAPE", "parts.keys[0]", {"keys": [(0, CHUNK + 1)]}),
                ("HEED_E_VALUE", "parts.n_keys", {"keys": []}),
                ("HEED_E_SHAPE", "parts.q", {"q": np.zeros((1, 4, 3, 16), "f")}),
                ("HEED_E_DTYPE", "parts.q", {"q": self.case.own()["q"].astype("f2")})):
            with self.subTest(field, part=list(part)):
                self.assert_told(name, field, lambda part=part: self.planned(part))

    def test_keys_that_nobody_holds(self):
        self.assert_told("HEED_E_SHAPE", "parts.keys",
                         lambda: self.case.plan(part=self.case.part(keys=[(0, 0)])), rank=0)

    def test_of_descriptions(self):
        self.assert_told("HEED_E_VALUE", "flags", lambda: self.planned({}, align="start|end"))
        if RANKS > 1:
            self.assert_told("HEED_E_MISMATCH", "desc", lambda: self.planned(
                {}, terms=[heed.window(301)]))

    def test_what_python_finds_wrong_on_one_rank_does_not_leave_the_others_waiting(self):
        for kind, part in ((OverflowError, {"n_rows": 1 << 64}), (TypeError, {"keys": 7}),
                           (ValueError, {"lse": np.zeros((1, 4, 3), "f")})):
            with self.subTest(kind.__name__):
                raised = heed.ArgumentError if RANK != WRONG else kind
                with self.assertRaises(raised) as caught:
                    self.planned(part)
                if RANK != WRONG:
                    self.assertIn(f"rank {WRONG}: ", str(caught.exception))
        with self.assertRaises(TypeError if RANK == WRONG else heed.ArgumentError):
            self.planned({}, windows=3)

    def test_of_runs(self):
        with self.case.plan() as plan:
            own = self.case.own()
            wrong = {**own, "q": own["q"].astype("f2")} if RANK == WRONG else own
            with self.assertRaises(ValueError) as caught:
                plan(**wrong)
            if RANK != WRONG:
                self.assertEqual((caught.exception.name, caught.exception.field),
                                 ("HEED_E_NULL", "args"))
            # Without k and v where there are keys, or without q.
            self.assert_told("HEED_E_NULL", "q",
                             lambda: plan(**{**own, "q": None} if RANK == WRONG else own))
            self.assert_words(plan(**own), self.case.wanted())

    def test_of_communicators(self):
        with self.assertRaises(TypeError):
            self.case.plan(comm=7)
        with self.assertRaises(heed.ArgumentError) as caught:
            self.case.plan(comm=MPI.COMM_NULL)
        self.assertEqual((caught.exception.name, caught.exception.field),
                         ("HEED_E_NULL", "comm"))

    def test_a_closed_plan(self):
        plan = self.case.plan()
        plan.close()
        plan.close()
        for use in (plan, plan.info):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()

    def test_a_plan_that_is_not_closed_says_so(self):
        plan = self.case.plan()
        handle = plan.handle
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del plan
            gc.collect()
        self.assertEqual([one.category for one in caught], [ResourceWarning])
        heed.mpi._ranks.heed_mpi_plan_destroy(handle)

    def test_what_all_ranks_hold_has_no_memory(self):
        x = heed.mpi.whole((1, 2, 8, 4))
        for use in (x.numpy, x.__dlpack__):
            with self.assertRaisesRegex(ValueError, "no memory"):
                use()
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.attention(x, x, x, x)
        self.assertEqual(caught.exception.name, "HEED_E_NULL")


@needs_ranks
class Examples(Ranks):
    def test_the_digest_is_that_of_one_rank(self):
        path = pathlib.Path(__file__).parents[2] / "examples/mpi/long_document.py"
        example = runpy.run_path(str(path))
        rows = 3 * CHUNK + 77
        told = example["digest"](WORLD, example["compute"](WORLD, rows)[0])
        alone = example["digest"](MPI.COMM_SELF, example["compute"](MPI.COMM_SELF, rows)[0])
        self.assertEqual(WORLD.allgather(told), [alone] * RANKS)


class Imports(unittest.TestCase):
    def failing(self, code, **environment):
        """What is said by an import that cannot succeed; of one rank, since none is asked."""
        if RANK:
            self.skipTest("rank 0 does it")
        path = os.pathsep.join(filter(None, sys.path))
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("OMPI_", "PMI", "PMIX_"))}
        return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                              check=False, env={**clean, "PYTHONPATH": path, **environment}).stderr

    def test_without_mpi4py(self):
        said = self.failing("import sys; sys.modules['mpi4py'] = None\nimport heed\n"
                            "print(heed.__version__)\nimport heed.mpi")
        self.assertIn("ImportError: heed.mpi takes communicators of mpi4py, which is not installed",
                      said)

    def test_without_the_library(self):
        said = self.failing("import heed.mpi", HEED_MPI_LIBRARY="/nowhere/libheed-mpi.so")
        self.assertIn("ImportError: libheed-mpi could not be loaded: /nowhere/libheed-mpi.so", said)
        self.assertIn("HEED_MPI_LIBRARY", said)

    def test_with_a_library_that_is_none_of_ranks(self):
        said = self.failing("import heed.mpi", HEED_MPI_LIBRARY=heed.library._name)
        self.assertIn("is no library of heed that this binding can use: it lacks 5 functions, the "
                      "first being heed_mpi_attn_plan", said)

    def test_of_another_mpi(self):
        other = heed.mpi._version_of_library() if not SAME_MPI else "Another MPI 1.0"
        with unittest.mock.patch.object(heed.mpi, "_version_of_library", lambda: other):
            with self.assertRaisesRegex(ImportError, "mpi4py is built for another MPI than"):
                heed.mpi.Plan(WORLD, heed.mpi.Part(), heed.mpi.whole((1, 1, 4, 4)))

    def test_planning_needs_no_mpi(self):
        said = self.failing(
            "import sys, heed.mpi\nx = heed.mpi.whole((1, 32, 1 << 30, 128), 'bf16')\n"
            "n = (1 << 30) // 64\n"
            "parts = [heed.mpi.Part(r * n, n, [(r * n, n)]) for r in range(64)]\n"
            "said = heed.mpi.model(parts, x, x, x, terms=[heed.window(4096)])\n"
            "assert said[1].bytes_in == 2 * 2 * 32 * 4096 * 128 * 2, said[1]\n"
            "assert 'mpi4py.MPI' not in sys.modules\nsys.exit('as it should be')")
        self.assertEqual(said, "as it should be\n")
