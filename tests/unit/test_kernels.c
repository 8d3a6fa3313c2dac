/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Device code as text: includes written out, lines still named, nothing lost for want of memory;
 * and the list of kernels against the texts.
 */
#include "backends/device/kernels.h"
#include "lib/core/alloc.h"
#include "lib/core/context.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(name, text) { name, text, sizeof(text) - 1 }

static const struct heed_kernel_text texts[] = {
    TEXT("a.cl", "// a\n#include \"one.h\"\n# include  \"two.h\"\nlast of a\n"),
    TEXT("one.h", "/* c */\n#ifndef ONE\n#define ONE\n#include \"two.h\"\nbody one\n#endif\n"),
    TEXT("two.h", "#ifndef TWO\nbody two\n#include <math.h>\n#endif\n"),
    TEXT("twice.cl", "#include \"loose.h\"\n#include \"loose.h\"\n"),
    TEXT("loose.h", "#undef ONE\nloose\n"),
    TEXT("lost.cl", "#include \"one.h\"\n#include \"absent.h\"\n"),
    TEXT("circle.cl", "#include \"circle.cl\"\n"),
    TEXT("room/b.cl", "#include \"../one.h\"\n#include \"own.h\"\n#include \"../two.h\"\n"),
    TEXT("room/own.h", "#include \"../other/two.h\"\n"),
    TEXT("other/two.h", "other two\n"),
    TEXT("room/lost.cl", "#include \"one.h\"\n"),
    TEXT("open.cl", "include \"absent.h\"\n#include \"\n#includes\n#include\nno newline"),
    { NULL, NULL, 0 },
};

static struct heed_services services_of(struct heed_runtime *runtime)
{
    return (struct heed_services){ .runtime = runtime, .alloc = heed_alloc, .free = heed_free };
}

/* The text of `file` is `wanted`; NULL: there is none. */
static void expect(const char *file, const char *wanted)
{
    struct ledger ledger = { 0 };
    struct heed_runtime runtime = { .allocator = ledger_allocator(&ledger) };
    const struct heed_services services = services_of(&runtime);
    size_t bytes = 77;
    char *text = heed_kernel_expand(texts, &services, file, &bytes);

    if (wanted == NULL) {
        ck_assert_ptr_null(text);
        ck_assert_uint_eq(bytes, 0);
    } else {
        ck_assert_ptr_nonnull(text);
        ck_assert_str_eq(text, wanted);
        ck_assert_uint_eq(bytes, strlen(wanted));
        services.free(services.runtime, text, bytes + 1, 1);
    }
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
}

TEST(includes_are_written_out_once_with_their_lines)
{
    expect("a.cl", "#line 1 \"a.cl\"\n// a\n"
                   "#line 1 \"one.h\"\n/* c */\n#ifndef ONE\n#define ONE\n"
                   "#line 1 \"two.h\"\n#ifndef TWO\nbody two\n#include <math.h>\n#endif\n"
                   "#line 5 \"one.h\"\nbody one\n#endif\n"
                   "#line 3 \"a.cl\"\n"
                   "#line 4 \"a.cl\"\nlast of a\n");
}

TEST(files_without_a_guard_are_written_each_time)
{
    expect("twice.cl", "#line 1 \"twice.cl\"\n"
                       "#line 1 \"loose.h\"\n#undef ONE\nloose\n#line 2 \"twice.cl\"\n"
                       "#line 1 \"loose.h\"\n#undef ONE\nloose\n#line 3 \"twice.cl\"\n");
}

/* A name is beside the text that has it, or where "../" leads. */
TEST(includes_are_found_from_folder_to_folder)
{
    expect("room/b.cl", "#line 1 \"room/b.cl\"\n"
                        "#line 1 \"one.h\"\n/* c */\n#ifndef ONE\n#define ONE\n"
                        "#line 1 \"two.h\"\n#ifndef TWO\nbody two\n#include <math.h>\n#endif\n"
                        "#line 5 \"one.h\"\nbody one\n#endif\n"
                        "#line 2 \"room/b.cl\"\n#line 1 \"room/own.h\"\n"
                        "#line 1 \"other/two.h\"\nother two\n#line 2 \"room/own.h\"\n"
                        "#line 3 \"room/b.cl\"\n#line 4 \"room/b.cl\"\n");
}

TEST(other_lines_stay)
{
    expect("open.cl", "#line 1 \"open.cl\"\n"
                      "include \"absent.h\"\n#include \"\n#includes\n#include\nno newline");
}

TEST(what_is_not_there_gives_nothing)
{
    expect("absent.cl", NULL);
    expect("a", NULL);
    expect("", NULL);
    expect("lost.cl", NULL);
    expect("room/lost.cl", NULL);
    expect("circle.cl", NULL);
}

TEST(no_memory_gives_nothing)
{
    struct ledger ledger = { 0 };
    struct heed_runtime runtime = { .allocator = ledger_allocator(&ledger) };
    const struct heed_services services = services_of(&runtime);
    size_t bytes = 77;

    atomic_store(&ledger.fail_at, 1);
    ck_assert_ptr_null(heed_kernel_expand(texts, &services, "a.cl", &bytes));
    ck_assert_uint_eq(bytes, 0);
}

/* Every row's file is there, ends up whole, and includes nothing but the host's headers. */
TEST(every_kernel_has_a_text)
{
    struct heed_runtime runtime = { .allocator = heed_alloc_default };
    const struct heed_services services = services_of(&runtime);

    for (int i = 0; i < HEED_KERNELS; i++) {
        size_t bytes;
        char *text = heed_kernel_source(&services, heed_kernel_rows[i].file, &bytes);

        ck_assert_msg(text != NULL, "%s", heed_kernel_rows[i].file);
        ck_assert_uint_eq(strlen(text), bytes);
        ck_assert_ptr_nonnull(strstr(text, "#line 1 \"dialect/dialect.h\"\n"));
        ck_assert_ptr_null(strstr(text, "#include \""));
        services.free(services.runtime, text, bytes + 1, 1);
    }
    for (int i = 0; heed_kernel_texts[i].name != NULL; i++)
        ck_assert_uint_eq(strlen(heed_kernel_texts[i].text), heed_kernel_texts[i].bytes);
}

TEST(kernels_are_few_and_named_apart)
{
    ck_assert_int_gt(HEED_KERNELS, 0);
    ck_assert_int_le(HEED_KERNELS, 88);
    for (int i = 0; i < HEED_KERNELS; i++) {
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(heed_kernel_rows[i].name, heed_kernel_rows[k].name);
    }
    ck_assert_str_eq(heed_kernel_rows[HEED_KERNEL_self_test].name, "self_test");
    ck_assert_str_eq(heed_kernel_rows[HEED_KERNEL_lanes_plain].options, "-DHK_PLAIN=1");
}

int main(void)
{
    return suite_run("kernels", 0, NULL, NULL);
}
