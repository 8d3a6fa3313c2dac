/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases that need more than two features together, run before the drawn ones.
 */
#include "attn.h"

static const char *const corners[] = {
    /* windows whose ends cross hold nothing, although a wide key would touch both */
    "op=attn s0.nt=1 s0.pspan=9 s0.t0.kind=window s0.t0.left=-3 s0.t0.right=-2 seed=1",
    "op=attn s0.nt=1 s0.pspan=9 s0.t0.kind=window s0.t0.left=-6 s0.t0.right=-2 "
    "s0.t0.block=3 seed=2",
    /* a begin beyond the packed keys empties the item: the last source's end moves the queries */
    "op=attn batch=3 align=end ns=2 s0.nt=1 s0.t0.kind=window s1.lay=ragged s1.idx=hostile "
    "s1.len=const seed=3",
    "op=attn batch=3 align=end ns=2 s0.nt=1 s0.t0.kind=window s1.lay=ragged s1.idx=hostile "
    "s1.len=const seed=4",
    "op=attn batch=3 align=end ns=2 s0.causal=yes s1.lay=ragged s1.idx=hostile s1.len=rt seed=5",
    /* several combs, GLOBAL keys and rows of one source, over a chunk border */
    "op=attn nq=65 s0.nk=1030 d=8 dv=7 s0.nt=3 s0.t0.step=2 s0.t0.phase=1 s0.t1.step=3 "
    "s0.t1.phase=1 s0.t2.kind=global s0.t2.gf=both s0.t2.slot=rt seed=6",
    "op=attn nq=65 s0.nk=1030 d=8 dv=7 h=4 s0.nt=3 s0.t0.kind=window s0.t0.left=80 s0.t0.step=3 "
    "s0.t0.ph=both s0.t1.kind=window s0.t2.kind=global s0.t2.block=3 s0.t2.gf=both seed=7",
    /* a step that names one key of many: places of a block times it leave 63 bits */
    "op=attn nq=7 d=8 dv=7 s0.nk=130 s0.nt=1 s0.t0.step=1152921504606846976 seed=15",
    /* one row over many chunks; chunks that are all masked or start at the least logit */
    "op=attn batch=1 h=1 nq=1 s0.nk=2100 d=64 dv=64 lse=plain fill=edge seed=8",
    "op=attn batch=1 h=1 nq=2 s0.nk=2100 d=8 dv=7 lse=plain fill=rise s0.mask=1 seed=9",
    "op=attn batch=1 h=1 nq=2 s0.nk=2100 d=8 dv=7 lse=sink sink=nan fill=special s0.mask=h seed=10",
    /* masks of rows: chunks that nobody sees, GLOBAL rows that are cut, gathered keys, blocks of
     * decoding whose rows are lines */
    "op=attn batch=1 h=1 nq=2 s0.nk=2100 d=8 dv=7 lse=plain fill=special s0.rmask=bits seed=16",
    "op=attn batch=2 h=4 nq=65 s0.nk=257 d=8 dv=7 s0.hk=half s0.len=rt s0.rmask=bytes s0.nt=3 "
    "s0.t0.kind=window s0.t1.kind=global s0.t1.gf=both s0.t1.slot=rt s0.t2.step=3 fill=special "
    "seed=17",
    "op=attn batch=2 h=4 nq=7 s0.nk=130 d=8 dv=7 s0.lay=listed s0.lh=hk s0.run=16 s0.rmask=bits "
    "s0.causal=yes align=end s0.b0.factor=h s0.nb=1 seed=18",
    "op=attn batch=2 h=4 nq=8 d=64 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.hk=1 s0.len=rt "
    "s0.rmask=bits1 fill=specialv seed=16",
    /* where words of bits bound packed keys and rows, and in blocks that workers keep packed */
    "op=attn batch=2 h=2 nq=7 d=8 dv=7 ql=ragged qlen=hostile s0.nk=40 s0.lay=ragged s0.idx=rt "
    "s0.len=hostile s0.rmask=bits seed=2",
    "op=attn batch=1 h=2 nq=700 d=8 dv=7 s0.nk=1300 s0.nt=1 s0.t0.kind=window s0.t0.left=70 "
    "s0.rmask=bytes1 fill=special seed=20",
    /* windows over so many keys that workers keep what their strips reach; GLOBAL rows reach all */
    "op=attn batch=1 h=1 nq=700 d=8 dv=7 s0.nk=1300 s0.nt=1 s0.t0.kind=window s0.t0.left=30 "
    "s0.t0.right=9 fill=special seed=70",
    "op=attn batch=3 h=2 nq=300 d=7 dv=8 s0.nk=1300 s0.k=bf16 s0.v=f16 s0.len=rt s0.mask=1 s0.nt=1 "
    "s0.t0.kind=window s0.t0.left=70 s0.causal=yes lse=plain fill=edge seed=71",
    "op=attn batch=1 h=4 nq=400 d=8 dv=7 s0.nk=1300 s0.nt=2 s0.t0.kind=window s0.t0.left=20 "
    "s0.t1.kind=global s0.t1.gf=both s0.t1.slot=rt s0.nb=1 s0.b0.kind=alibi seed=72",
    /* everything absent */
    "op=attn batch=1 h=1 nq=1 d=0 dv=1 lse=sink sink=normal s0.nk=0 seed=11",
    "op=attn nq=33 d=0 dv=17 scale=zero lse=plain o=f16 s0.nk=130 s0.v=bf16 seed=12",
    /* sums of subnormals, stored in every type */
    "op=attn fill=subnormal o=f16 s0.v=f16 s0.nk=1030 nq=7 seed=13",
    "op=attn fill=subnormal o=bf16 s0.v=bf16 s0.nk=1030 nq=7 lse=plain seed=14",
    "op=attn fill=subnormal s0.nk=257 nq=7 seed=15",
    /* a slope of +Inf removes no key: the +Inf that a later bias adds makes it NaN */
    "op=attn h=3 nq=33 d=7 dv=7 s0.nk=130 s0.pos0=3 s0.pstep=2 s0.nb=2 s0.b0.kind=alibi "
    "s0.b0.fill=special s0.b1.kind=dense s0.b1.fill=special seed=69",
    /* a slope whose product with log2(e) is infinite, at a distance of 0 */
    "op=attn batch=1 h=3 nq=1 d=1 dv=1 s0.nk=1 s0.nb=1 s0.b0.kind=alibi s0.b0.fill=special "
    "seed=4722",
    /* infinite queries under a cap, products outside their table or with rows of NaN that no key in
     * reach has */
    "op=attn h=2 nq=33 d=8 dv=7 cap=20 fill=special s0.nk=33 s0.nb=1 s0.b0.kind=dot s0.b0.map=rt "
    "seed=3",
    "op=attn h=2 nq=33 d=8 dv=7 s0.nk=33 s0.causal=yes s0.nt=1 s0.t0.kind=window s0.t0.left=2 "
    "s0.nb=1 s0.b0.kind=dot s0.b0.fill=special seed=4",
    /* a head outside the ring of the last source: its end is where an empty item's is */
    "op=attn batch=3 align=end ns=2 s0.nt=1 s0.t0.kind=window s1.lay=ring s1.idx=hostile s1.len=rt "
    "s1.end=yes seed=6",
    /* items that share a ring and begin elsewhere in it */
    "op=attn batch=3 h=2 nq=130 s0.nk=130 s0.kb=one s0.lay=ring s0.idx=rt s0.len=rt seed=11",
    /* items that share K and not V, which is not finite in blocks of some items alone */
    "op=attn batch=3 h=2 nq=130 d=8 dv=7 s0.nk=130 s0.causal=yes s0.ks=zero fill=specialv seed=4",
    /* pages that are not there, in packed blocks and in blocks of V read in place */
    "op=attn batch=3 h=4 nq=130 d=16 dv=64 s0.nk=257 s0.lay=paged s0.page=64 s0.idx=rt s0.len=rt "
    "s0.hk=half seed=7",
    "op=attn batch=3 h=4 nq=1 d=16 dv=64 s0.nk=257 s0.lay=paged s0.page=100 s0.idx=hostile "
    "s0.len=rt s0.hk=half s0.nt=3 s0.t0.kind=window s0.t1.kind=global s0.t1.slot=rt s0.t2.step=3 "
    "seed=8",
    /* pages of 16 keys that lie channel after channel: panels, which few rows read as they are */
    "op=attn batch=2 h=4 nq=7 d=40 dv=64 s0.k=f32 s0.v=f32 s0.nk=400 s0.hk=half s0.lay=paged "
    "s0.page=16 s0.ks=transposed s0.len=rt seed=16",
    "op=attn batch=2 h=4 nq=2 d=40 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.hk=half s0.lay=paged "
    "s0.page=16 s0.ks=transposed s0.len=rt seed=16",
    "op=attn batch=2 h=4 nq=3 d=40 dv=64 s0.k=bf16 s0.v=bf16 s0.nk=400 s0.hk=half s0.lay=paged "
    "s0.page=16 s0.ks=transposed s0.len=rt seed=16",
    "op=attn batch=2 h=4 nq=1 d=40 dv=64 s0.k=i8 s0.v=i8 s0.nk=400 s0.hk=half s0.lay=paged "
    "s0.page=16 s0.ks=transposed s0.len=rt seed=16",
    /* decoding, the rows of which are whole lines: one, two and four rows that share keys */
    "op=attn batch=2 h=2 nq=1 d=64 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.len=rt seed=16",
    "op=attn batch=2 h=4 nq=1 d=128 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.hk=half s0.len=rt "
    "seed=17",
    "op=attn batch=2 h=4 nq=1 d=64 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.hk=1 s0.len=rt "
    "seed=18",
    "op=attn batch=2 h=2 nq=1 d=64 dv=64 s0.k=bf16 s0.v=bf16 s0.nk=400 s0.len=rt seed=19",
    "op=attn batch=2 h=4 nq=1 d=128 dv=64 s0.k=bf16 s0.v=bf16 s0.nk=400 s0.hk=half s0.len=rt "
    "seed=20",
    "op=attn batch=2 h=4 nq=1 d=64 dv=64 s0.k=bf16 s0.v=bf16 s0.nk=400 s0.hk=1 s0.len=rt "
    "seed=21",
    "op=attn batch=2 h=4 nq=1 d=128 dv=128 s0.k=i8 s0.v=i8 s0.nk=400 s0.hk=1 s0.len=rt "
    "seed=22",
    "op=attn batch=2 h=4 nq=1 d=64 dv=64 s0.k=f8e4m3 s0.v=f8e5m2 s0.nk=400 s0.hk=1 s0.len=rt "
    "seed=24",
    /* such rows of f16 that are not finite, whose bits are no numbers, or subnormal */
    "op=attn batch=2 h=2 nq=1 d=64 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 fill=special seed=25",
    "op=attn batch=2 h=4 nq=1 d=128 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.hk=1 fill=special "
    "s0.len=rt seed=26",
    "op=attn batch=2 h=4 nq=1 d=64 dv=64 s0.k=f16 s0.v=f16 s0.nk=400 s0.hk=half fill=subnormal "
    "seed=27",
    /* weights about 2^-100 with an infinite V, in blocks of which every key is seen */
    "op=attn batch=3 h=3 nq=1 d=1 dv=130 s0.nk=65 fill=edge seed=5",
    "op=attn batch=3 h=3 nq=1 d=1 dv=130 s0.nk=65 fill=edge seed=2",
    "op=attn batch=3 h=3 nq=1 d=1 dv=130 s0.nk=65 fill=edge seed=7",
    /* y = -Inf over an infinite V, in such blocks */
    "op=attn batch=3 h=3 nq=7 d=7 dv=65 s0.nk=65 fill=special seed=1",
    /* items whose tables begin with the same pages, for whole chunks of keys: some, all, whatever
     * follows; of other lengths, from the end, with pages that are not there, under a window, with
     * biases and scales, beside keys of each item's own and of all */
    "op=attn batch=3 h=4 nq=1 d=64 dv=64 s0.hk=1 s0.nk=2100 s0.lay=paged s0.tab=begin s0.len=rt "
    "lse=plain seed=1",
    "op=attn batch=3 h=4 nq=1 d=64 dv=64 s0.hk=1 s0.nk=2100 s0.lay=paged s0.tab=one s0.len=rt "
    "seed=2",
    "op=attn batch=2x2 h=2 nq=2 d=64 dv=64 s0.hk=half s0.nk=3100 s0.lay=paged s0.page=100 "
    "s0.tab=begin s0.len=rt s0.causal=yes align=end s0.k=bf16 s0.v=bf16 fill=specialv seed=3",
    "op=attn batch=3 h=2 nq=7 d=8 dv=7 s0.nk=4100 s0.lay=paged s0.page=64 s0.tab=one s0.len=rt "
    "s0.end=yes s0.nt=1 s0.t0.kind=window s0.t0.left=900 s0.t0.right=300 align=end fill=special "
    "seed=6",
    "op=attn batch=none h=2 nq=1 d=8 dv=7 s0.nk=2100 s0.lay=paged s0.tab=one s0.len=rt seed=5",
    "op=attn batch=3 h=2 nq=3 d=64 dv=64 ns=2 s0.nk=2100 s0.lay=paged s0.page=1 s0.tab=begin "
    "s0.idx=hostile s0.len=const s1.nk=65 s0.nb=1 s0.b0.kind=alibi cap=20 sink=normal seed=6",
    "op=attn batch=3 h=4 nq=1 d=64 dv=64 ns=2 s0.nk=1030 s0.kb=one s1.nk=2100 s1.lay=paged "
    "s1.tab=begin s1.len=hostile s1.k=i8 s1.v=i8 seed=7",
    "op=attn batch=3 h=4 nq=1 d=64 dv=64 s0.nk=2100 s0.lay=paged s0.tab=one s0.len=rt s0.mask=1 "
    "seed=8",
    /* few rows of several items over keys that all share, before and behind an item's own */
    "op=attn batch=3 h=4 nq=1 d=128 dv=64 ns=2 s0.nk=1030 s0.kb=one s0.hk=half s1.nk=65 s1.hk=half "
    "s1.len=rt lse=plain seed=1",
    "op=attn batch=2x2 h=2 nq=3 d=64 dv=130 ns=3 s0.nk=33 s1.nk=2100 s1.kb=one s1.causal=yes "
    "s2.nk=65 s2.kb=one align=end qlen=rt sink=normal fill=special seed=2",
    /* a few dozen rows over keys of whole lines, which are asked for between the products: rows,
     * pages, panels that several strips share */
    "op=attn batch=2 h=4 nq=11 d=128 dv=128 s0.hk=1 s0.nk=400 seed=1",
    "op=attn batch=2 h=1 nq=34 d=128 dv=64 s0.nk=400 s0.lay=paged s0.page=16 s0.idx=rt s0.len=rt "
    "seed=2",
    "op=attn h=2 nq=400 d=130 dv=192 s0.hk=1 s0.nk=400 s0.causal=yes s0.k=bf16 seed=3",
    /* two items in one strip of more rows than either has, whose chunks go to several workers */
    "op=attn h=3 nq=16 d=1 dv=1 ns=3 s0.nk=1 s0.kb=one s1.nk=1 s2.nk=1 seed=1",
};

const char *cf_attn_line(int i)
{
    return i < (int)(sizeof corners / sizeof *corners) ? corners[i] : NULL;
}
