/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files that libraries of others take apart are hostile input for a lot of code that is not ours.
 * A process of its own reads such a file, confined (confine.c), and sends the blocks that it finds
 * through a pipe, each as soon as it is closed. What arrives is checked like a file: it goes
 * through the same functions as the text of every reader. Whatever ends the process, this one has
 * a line to say.
 */
#define _POSIX_C_SOURCE 200809L    /* fork, poll */
#include "read.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BUFFER = 1 << 16,
    SLOWER = 8,                    /* times the processor seconds: a busy machine */
    LAST = BLOCK_KINDS             /* in place of a kind: all is sent */
};

/* A block, before its bytes; or the end, before the bytes of what is wrong with the file. */
struct record {
    uint64_t label, lead, text;    /* bytes: the name, what is between, the text */
    uint32_t kind;
    uint32_t failed;
};

/* ---- the process -------------------------------------------------------- */

struct sender {
    int to;
    size_t size, used, most, sent;         /* sent: text, of at most so much */
    char bytes[BUFFER];
};

static bool send_out(struct sender *s)
{
    for (size_t at = 0; at < s->used;) {
        const ssize_t n = write(s->to, s->bytes + at, s->used - at);

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    s->used = 0;
    return true;
}

static bool send_bytes(struct sender *s, const void *bytes, size_t size)
{
    const char *from = bytes;

    while (size > 0) {
        const size_t part = size < BUFFER - s->used ? size : BUFFER - s->used;

        memcpy(s->bytes + s->used, from, part);
        s->used += part;
        from += part;
        size -= part;
        if (s->used == BUFFER && !send_out(s))
            return false;
    }
    return true;
}

static bool send_block(struct stream *stream, void *to)
{
    const struct block b = stream->blocks[stream->n - 1];
    struct sender *const s = to;
    const struct record record = {
        .label = b.label_end - b.begin, .lead = b.text_begin - b.label_end,
        .text = b.end - b.text_begin, .kind = b.kind
    };

    s->sent += b.end - b.begin;
    if (s->sent > s->most) {
        stream->refused = "it has more text than 100 times its bytes";
        return false;
    }
    return send_bytes(s, &record, sizeof(record)) &&
           send_bytes(s, stream->text + b.begin, b.end - b.begin);
}

static _Noreturn void process(int to, const struct format *format, const struct source *source)
{
    static struct sender sender;
    struct stream stream = { .take = send_block, .to = &sender };
    struct record last = { .kind = LAST };
    const struct room *const room = format->apart;
    const uint64_t memory = ((uint64_t)room->mib << 20) +
                            (uint64_t)source->size / 10 * room->tenths;

    sender.to = to;
    sender.most = TEXT_FREE + TEXT_TIMES * source->size;
    confine(to, memory, confine_seconds(room, source->size));
    format->read(&stream, source);
    stream_close(&stream);
    last.failed = stream.failed;
    last.text = stream.refused ? strlen(stream.refused) : 0;
    _exit(send_bytes(&sender, &last, sizeof(last)) &&
          send_bytes(&sender, stream.refused, (size_t)last.text) && send_out(&sender)
          ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- who asks ----------------------------------------------------------- */

struct receiver {
    int from;
    int64_t end;                           /* milliseconds of the clock */
    bool late;
    size_t at, used, left;                 /* left: bytes of text that may still come */
    char bytes[BUFFER];
    char refused[200];
};

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* More bytes; false: there are none. */
static bool refill(struct receiver *r)
{
    struct pollfd ready = { .fd = r->from, .events = POLLIN };
    ssize_t n = -1;

    while (n < 0) {
        const int64_t left = r->end - now();
        const int found = left > 0 ? poll(&ready, 1, left < 1000 ? (int)left : 1000) : 0;

        r->late = left <= 0;
        if (r->late || (found < 0 && errno != EINTR))
            return false;
        n = found > 0 ? read(r->from, r->bytes, BUFFER) : -1;
        if (found > 0 && n < 0 && errno != EINTR)
            return false;
    }
    r->at = 0;
    r->used = (size_t)n;
    return n > 0;
}

static bool receive(struct receiver *r, void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        const size_t part = size < r->used - r->at ? size : r->used - r->at;

        if (part == 0 && !refill(r))
            return false;
        memcpy(at, r->bytes + r->at, part);
        r->at += part;
        at += part;
        size -= part;
    }
    return true;
}

/* Bytes that go to the open block. */
static bool receive_text(struct receiver *r, struct stream *stream, uint64_t size)
{
    if (size > r->left)
        return false;
    r->left -= (size_t)size;
    while (size > 0 && !stream->failed) {
        size_t part;

        if (r->at == r->used && !refill(r))
            return false;
        part = size < r->used - r->at ? (size_t)size : r->used - r->at;
        stream_put(stream, r->bytes + r->at, part, stream->size);
        r->at += part;
        size -= part;
    }
    return true;
}

/* A block; false: there is no more, and *last tells whether all arrived. */
static bool receive_block(struct receiver *r, struct stream *stream, struct record *last)
{
    struct record b;

    *last = (struct record){ .kind = 0 };
    if (!receive(r, &b, sizeof(b)))
        return false;
    if (b.kind >= BLOCK_KINDS) {
        const size_t size = b.text < sizeof(r->refused) ? (size_t)b.text : sizeof(r->refused) - 1;

        if (b.kind == LAST && receive(r, r->refused, size))
            *last = b;
        return false;
    }
    stream_open(stream, (enum block_kind)b.kind);
    if (!receive_text(r, stream, b.label))
        return false;
    if (b.label > 0)
        stream_label(stream);
    if (!receive_text(r, stream, b.lead))
        return false;
    stream->text_begin = stream->size;
    if (!receive_text(r, stream, b.text))
        return false;
    stream_close(stream);
    return !stream->failed;
}

/* What the line says of a process that did not end well. */
static void tell(const struct receiver *r, const struct format *format, const struct source *source,
                 int status, struct failure *why)
{
    why->usage = true;
    if (*r->refused)
        snprintf(why->text, sizeof(why->text), "%s", r->refused);
    else if (r->late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        snprintf(why->text, sizeof(why->text), "it takes more than %u s to read, which such a %s "
                 "file may not", confine_seconds(format->apart, source->size), format->name);
    else
        snprintf(why->text, sizeof(why->text), "it is damaged, or needs more memory than such a %s "
                 "file may: what reads it stopped (%s %d)", format->name,
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

bool apart_read(struct stream *stream, const struct format *format, const struct source *source,
                struct failure *why)
{
    struct receiver r = { .from = -1 };
    struct record last = { .kind = 0 };
    int ends[2], status = 0;
    pid_t pid;

    if (pipe(ends) != 0) {
        snprintf(why->text, sizeof(why->text), "cannot start a process: %s", strerror(errno));
        return false;
    }
    fflush(NULL);                          /* nothing is printed twice */
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        process(ends[1], format, source);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        snprintf(why->text, sizeof(why->text), "cannot start a process: %s", strerror(errno));
        return false;
    }
    r.from = ends[0];
    r.end = now() + (int64_t)confine_seconds(format->apart, source->size) * 1000 * SLOWER;
    r.left = TEXT_FREE + TEXT_TIMES * source->size;
    while (receive_block(&r, stream, &last))
        ;
    close(ends[0]);
    kill(pid, SIGKILL);                    /* ended already, unless it sends what it must not */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    stream_close(stream);
    if (last.kind == LAST && !last.failed && !stream->failed)
        return true;
    if (stream->failed)
        snprintf(why->text, sizeof(why->text), "%s",
                 stream->crowded ? text_crowded : "not enough memory for the text");
    else
        tell(&r, format, source, last.kind == LAST ? 0 : status, why);
    why->usage = why->usage || stream->crowded;
    return false;
}
