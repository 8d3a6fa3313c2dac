/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process that reads a file which may harm, with readers that do what one would that an
 * attacker has taken over.
 */
#define _GNU_SOURCE                /* syscall(), flags of open() */
#include "summarize_job.h"
#include "support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __has_feature
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif
#if defined __SANITIZE_ADDRESS__ || HAS(address_sanitizer) || !defined __linux__
#define BOUND 0                    /* memory is the sanitizer's, or nobody knows how much it is */
#else
#define BOUND 1
#endif

static const struct room small = { 16, 12, 1 };

/* Reads by `reader`, of 100 bytes that say nothing. */
static bool reads(void (*reader)(struct stream *, const struct source *), struct stream *stream,
                  struct failure *why)
{
    static const char bytes[100] = "x";
    const struct format format = { .name = "x", .read = reader, .apart = &small };

    *stream = (struct stream){ 0 };
    *why = (struct failure){ .usage = false };
    return apart_read(stream, &format, &(struct source){ bytes, sizeof(bytes), "x" }, why);
}

/* The file is refused, and why has these words. */
static void refuses(void (*reader)(struct stream *, const struct source *), const char *words)
{
    struct stream stream;
    struct failure why;

    ck_assert(!reads(reader, &stream, &why));
    ck_assert_msg(why.usage && strstr(why.text, words), "%s", why.text);
    ck_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    stream_finish(&stream);
}

static void put(struct stream *stream, enum block_kind kind, const char *text)
{
    stream_open(stream, kind);
    stream_put(stream, text, strlen(text), stream->size);
    stream_close(stream);
}

/* ---- what it should do ------------------------------------------------------- */

static void reads_well(struct stream *stream, const struct source *source)
{
    static const char spoken[] = "Ann: one \x1b[31mtwo";

    put(stream, BLOCK_HEADING, "A title");
    stream_open(stream, BLOCK_PARAGRAPH);
    stream_put(stream, spoken, sizeof(spoken) - 1, 0);
    stream_speaker(stream);
    stream_close(stream);
    put(stream, BLOCK_TABLE, "  ");
    put(stream, BLOCK_ITEM, source->text);
}

TEST(blocks_arrive_as_they_were_read)
{
    struct stream s;
    struct failure why;

    ck_assert_msg(reads(reads_well, &s, &why), "%s", why.text);
    ck_assert_int_eq(s.n, 3);
    ck_assert(s.blocks[0].kind == BLOCK_HEADING && s.blocks[1].kind == BLOCK_PARAGRAPH &&
              s.blocks[2].kind == BLOCK_ITEM);
    ck_assert_uint_eq(s.blocks[1].label_end - s.blocks[1].label_begin, 3);
    ck_assert(memcmp(s.text + s.blocks[1].text_begin, "one two", 7) == 0);
    ck_assert_uint_eq(s.size, s.blocks[2].end);
    for (size_t i = 0; i < s.size; i++)
        ck_assert_uint_eq(stream_origin(&s, i), i);
    stream_finish(&s);
}

static void refuses_it(struct stream *stream, const struct source *source)
{
    put(stream, BLOCK_PARAGRAPH, source->text);
    stream_refuse(stream, "it is so wrong");
    stream_refuse(stream, "it is wrong in another way");
    put(stream, BLOCK_PARAGRAPH, source->text);
}

static void does_nothing(struct stream *stream, const struct source *source)
{
    (void)stream;
    (void)source;
}

TEST(what_a_reader_says_of_a_file_arrives)
{
    struct stream s;
    struct failure why;

    refuses(refuses_it, "it is so wrong");
    ck_assert(reads(does_nothing, &s, &why));
    ck_assert_int_eq(s.n, 0);
    stream_finish(&s);
}

/* ---- what must not matter ------------------------------------------------------ */

static void crashes(struct stream *stream, const struct source *source)
{
    put(stream, BLOCK_PARAGRAPH, source->text);
    signal(SIGSEGV, SIG_DFL);              /* a sanitizer's report is not what is tested */
    raise(SIGSEGV);
    abort();
}

static void leaves(struct stream *stream, const struct source *source)
{
    put(stream, BLOCK_PARAGRAPH, source->text);
    _exit(0);
}

TEST(a_process_that_ends_too_early_is_one_line)
{
    refuses(crashes, "what reads it stopped (signal");
    refuses(leaves, "what reads it stopped (status 0)");
}

static void loops(struct stream *stream, const struct source *source)
{
    volatile bool on = true;

    (void)stream;
    (void)source;
    while (on)
        ;
}

static void says_no_end(struct stream *stream, const struct source *source)
{
    (void)source;
    while (!stream->failed)
        put(stream, BLOCK_PARAGRAPH, "All of this is said again and again. ");
}

TEST(time_and_text_have_an_end)
{
    refuses(loops, "it takes more than");
    refuses(says_no_end, "it has more text than 100 times its bytes");
}

static void takes_memory(struct stream *stream, const struct source *source)
{
    char *const bytes = malloc((size_t)64 << 20);

    (void)source;
    if (bytes)
        memset(bytes, 1, (size_t)64 << 20);
    put(stream, BLOCK_PARAGRAPH, bytes ? "It has memory." : "It has none.");
    free(bytes);
}

TEST(memory_has_an_end)
{
    const char *const wanted = BOUND ? "It has none." : "It has memory.";
    struct stream s;
    struct failure why;

    ck_assert_msg(reads(takes_memory, &s, &why), "%s", why.text);
    ck_assert_uint_eq(s.size, strlen(wanted));
    ck_assert(memcmp(s.text, wanted, strlen(wanted)) == 0);
    stream_finish(&s);
}

/* Bytes that are none of the protocol, to every open file. */
static void sends_rubbish(struct stream *stream, const struct source *source)
{
    uint32_t noise[4096];

    (void)stream;
    (void)source;
    for (int i = 0; i < 4096; i++)
        noise[i] = (uint32_t)i * 2654435761u;
    for (int fd = 3; fd < 64; fd++) {
        const ssize_t n = write(fd, noise, sizeof(noise));

        (void)n;
    }
    _exit(0);
}

/* A block of so many bytes, and then none of them. */
static void lies(struct stream *stream, const struct source *source)
{
    static const uint64_t record[4] = { UINT64_MAX / 2, UINT64_MAX / 2, 2, 0 };

    (void)stream;
    (void)source;
    for (int fd = 3; fd < 64; fd++) {
        const ssize_t n = write(fd, record, sizeof(record));

        (void)n;
    }
    _exit(0);
}

TEST(what_it_sends_is_checked)
{
    refuses(sends_rubbish, "what reads it stopped");
    refuses(lies, "what reads it stopped");
}

#ifdef __linux__

/* Says what it could do that it must not. */
static void breaks_out(struct stream *stream, const struct source *source)
{
    char name[] = "heed-summarize-apart-XXXXXX";
    const pid_t parent = getppid();

    (void)source;
    put(stream, BLOCK_PARAGRAPH, mkstemp(name) >= 0 ? "a file" : "nothing");
    put(stream, BLOCK_PARAGRAPH, open("/dev/null", O_WRONLY) >= 0 ? "to write" : "nothing");
    put(stream, BLOCK_PARAGRAPH, socket(AF_INET, SOCK_STREAM, 0) >= 0 ? "a socket" : "nothing");
    put(stream, BLOCK_PARAGRAPH, kill(parent, 0) == 0 ? "a signal" : "nothing");
    put(stream, BLOCK_PARAGRAPH, fork() >= 0 ? "a process" : "nothing");
    put(stream, BLOCK_PARAGRAPH, unlink("nothing-here") == 0 || errno != EPERM ? "a name"
                                                                              : "nothing");
    put(stream, BLOCK_PARAGRAPH, execl("/bin/true", "true", (char *)NULL) == 0 || errno != EPERM
                                 ? "a program" : "nothing");
    put(stream, BLOCK_PARAGRAPH, open("/dev/null", O_RDONLY) < 0 ? "no file to read" : "nothing");
}

/* Whether the system lets a process bind itself: emulators may not. */
static bool can_filter(void)
{
    FILE *const status = fopen("/proc/self/status", "r");
    char line[256];
    bool found = false;

    while (status && fgets(line, sizeof(line), status))
        found = found || strncmp(line, "Seccomp:", 8) == 0;
    if (status)
        fclose(status);
    return found;
}

TEST(nothing_is_written_started_or_asked)
{
    struct stream s;
    struct failure why;

    if (!can_filter())
        return;
    ck_assert_msg(reads(breaks_out, &s, &why), "%s", why.text);
    for (int64_t i = 0; i < s.n; i++)
        ck_assert_msg(s.blocks[i].end - s.blocks[i].begin == 7 &&
                      memcmp(s.text + s.blocks[i].begin, "nothing", 7) == 0,
                      "%.*s", (int)(s.blocks[i].end - s.blocks[i].begin),
                      s.text + s.blocks[i].begin);
    ck_assert_int_eq(s.n, 8);
    stream_finish(&s);
}

#endif

int main(void)
{
    return suite_run("summarize_apart", 120, NULL, NULL);
}
