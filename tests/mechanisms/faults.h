/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that a builder must refuse: a right one, a field of which is set to what it must not
 * be, and the status, field, bound and value that the report must have. Nothing else is written.
 *
 *     static const struct fault faults[] = {
 *         FAULT(heed_longformer_desc, window, -1, HEED_E_VALUE, "window", 1, -1),
 *     };
 *     FAULTS_REFUSED(heed_longformer, right, faults);
 */
#ifndef HEED_TESTS_MECHANISMS_FAULTS_H
#define HEED_TESTS_MECHANISMS_FAULTS_H

#include "world.h"

struct fault {
    size_t at, size;
    int64_t value;
    heed_status status;
    const char *field;
    int64_t wanted, got;
};

#define FAULT(type, member, value, status, field, wanted, got)                                     \
    { offsetof(type, member), sizeof(((type *)0)->member), value, status, field, wanted, got }

typedef heed_status builder_fn(const void *desc, heed_mechanism *out, heed_report *report);

static inline void refused(builder_fn *build, const void *desc, const struct fault *f)
{
    heed_report why = { .size = sizeof(why) };
    heed_mechanism out, before;
    heed_status status;

    memset(&out, 0x5a, sizeof(out));
    out.size = sizeof(out);
    before = out;
    status = build(desc, &out, &why);
    ck_assert_msg(status == f->status && why.status == status && strcmp(why.field, f->field) == 0 &&
                      why.wanted == f->wanted && why.got == f->got,
                  "%s is %lld: %s, field %s, wanted %lld, got %lld: %s", f->field,
                  (long long)f->value, heed_status_name(status), why.field, (long long)why.wanted,
                  (long long)why.got, why.message);
    ck_assert_int_gt((int)strlen(why.message), 0);
    ck_assert_msg(memcmp(&out, &before, sizeof(out)) == 0, "%s: written on error", f->field);
    ck_assert_int_eq(build(desc, &out, NULL), f->status);
}

/* `desc` is a copy of the right one, `room` bytes long; it is right again afterwards. */
static inline void fault_try(builder_fn *build, unsigned char *desc, const struct fault *f)
{
    unsigned char saved[128];
    const int32_t narrow = (int32_t)f->value;

    ck_assert_uint_le(f->size, sizeof(saved));
    memcpy(saved, desc + f->at, f->size);
    if (f->size > 8)
        memset(desc + f->at, 0, f->size);
    else
        memcpy(desc + f->at, f->size == 4 ? (const void *)&narrow : &f->value, f->size);
    refused(build, desc, f);
    memcpy(desc + f->at, saved, f->size);
}

/* What every builder says of the structs themselves; `size` is that of the descriptor. */
static inline void structs_refused(builder_fn *build, const void *right, uint32_t size)
{
    const struct fault null = { .status = HEED_E_NULL, .field = "desc" };
    unsigned char desc[2048] = { 0 };
    struct fault f = { .status = HEED_E_SIZE, .field = "size", .wanted = size, .got = size - 8 };
    heed_mechanism out = { .size = sizeof(out) - 1 };
    heed_report why = { .size = sizeof(why) };
    uint32_t word;

    ck_assert_uint_le(size + 8, sizeof(desc));
    refused(build, NULL, &null);
    memcpy(desc, right, size);
    word = size - 8;
    memcpy(desc, &word, 4);
    refused(build, desc, &f);
    word = size + 8;
    memcpy(desc, &word, 4);
    ck_assert_int_eq(build(desc, &(heed_mechanism){ .size = sizeof(out) }, &why), HEED_OK);
    desc[size + 7] = 1;
    f = (struct fault){ .status = HEED_E_NEWER, .field = "size", .wanted = size, .got = size + 7 };
    refused(build, desc, &f);
    ck_assert_int_eq(build(right, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "out");
    ck_assert_int_eq(build(right, &out, &why), HEED_E_SIZE);
    out.size = sizeof(out) + 8;
    ck_assert_int_eq(build(right, &out, &why), HEED_E_NEWER);
    ck_assert_str_eq(why.field, "out.size");
}

#define FAULTS_REFUSED(builder, right, faults)                                                     \
    do {                                                                                           \
        unsigned char desc_[sizeof(right)];                                                        \
                                                                                                   \
        memcpy(desc_, &(right), sizeof(right));                                                    \
        structs_refused(builder, desc_, (uint32_t)sizeof(right));                                  \
        for (size_t f_ = 0; f_ < sizeof(faults) / sizeof((faults)[0]); f_++)                       \
            fault_try(builder, desc_, &(faults)[f_]);                                              \
        ck_assert_int_eq(memcmp(desc_, &(right), sizeof(right)), 0);                               \
    } while (0)

/* A builder of a type of its own as a builder_fn. */
#define BUILDER(builder)                                                                           \
    static heed_status builder##_of(const void *desc, heed_mechanism *out, heed_report *report)    \
    {                                                                                              \
        return builder(desc, out, report);                                                         \
    }

/* A dense f32 tensor [1][2][n][4], for descriptors that are never run. */
static inline heed_tensor small_tensor(int64_t n)
{
    return heed_array4(HEED_F32, NULL, 1, 2, n, 4).t;
}

static inline heed_keys small_keys(int64_t n)
{
    return (heed_keys){ .k = small_tensor(n), .v = small_tensor(n) };
}

#endif
