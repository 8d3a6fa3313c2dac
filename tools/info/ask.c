/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child makes the runtime and describes one device after the other into a pipe, opened where that
 * is asked for, telling before each step what it is about to do. When it falls silent or dies, the
 * step it was at is the answer for that device, and another child goes on behind it. The parent
 * touches no driver.
 */
#define _POSIX_C_SOURCE 200809L

#include "ask.h"

#include "common/child.h"
#include "common/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum what {
    LISTING = 1,    /* about to get device `index` */
    OPENING,        /* about to describe it; props.name */
    DEVICE,         /* props */
    PREFERRED,      /* props.name */
    MISSING,        /* index: the kind, report */
    FAILED,         /* no runtime: report */
    END
};

/* Small enough to be written in one piece. */
struct message {
    uint32_t what, index;
    heed_device_props props;
    heed_report report;
    char gemm[ASK_GEMM];
};

/* ---- the child ---------------------------------------------------------- */

static void tell(int to, const struct message *message)
{
    if (write(to, message, sizeof *message) != (ssize_t)sizeof *message)
        _exit(EXIT_FAILURE);
}

static void tell_name(int to, enum what what, uint32_t index, const heed_device *device)
{
    struct message message = { .what = what, .index = index };

    snprintf(message.props.name, sizeof message.props.name, "%s",
             device != NULL ? heed_device_name(device) : "");
    tell(to, &message);
}

/* A backend of whose devices there is none here is compiled in all the same; the message says what
 * is missing. */
static void tell_missing(int to, const heed_runtime *runtime, const char *name, uint32_t kind)
{
    struct message message = { .what = MISSING, .index = kind };
    heed_device *device = NULL;

    message.report.size = sizeof message.report;
    if (heed_device_find(runtime, name, &device, &message.report) < 0)
        tell(to, &message);
}

static void tell_device(int to, uint32_t index, const heed_device *device, bool open)
{
    struct message message = { .what = DEVICE, .index = index };

    tell_name(to, OPENING, index, device);
    message.props.size = sizeof message.props;
    if ((open ? heed_device_info : heed_device_listing)(device, &message.props) < 0)
        return;
    (void)!heed_device_gemm(device, message.gemm, sizeof message.gemm); /* empty: none is known */
    tell(to, &message);
}

static bool opens(const struct ask *ask, const heed_device *device)
{
    return ask->device != NULL ? strcmp(heed_device_name(device), ask->device) == 0 : ask->test;
}

static void tell_all(int to, const heed_runtime *runtime, const struct ask *ask, uint32_t first)
{
    bool opencl = false, cuda = false;
    heed_device *device;

    for (uint32_t i = 0;; i++) {
        tell_name(to, LISTING, i, NULL);
        device = heed_device_get(runtime, i);
        if (device == NULL)
            break;
        opencl = opencl || strncmp(heed_device_name(device), "opencl", 6) == 0;
        cuda = cuda || strncmp(heed_device_name(device), "cuda", 4) == 0;
        if (i >= first)
            tell_device(to, i, device, opens(ask, device));
    }
    if (!opencl)
        tell_missing(to, runtime, "opencl:0", HEED_DEVICE_OPENCL);
    if (!cuda)
        tell_missing(to, runtime, "cuda:0", HEED_DEVICE_CUDA);
    tell_name(to, END, 0, NULL);
}

static void describe_all(int to, const heed_runtime_desc *desc, const struct ask *ask,
                         uint32_t first)
{
    struct message message = { .what = FAILED, .report.size = sizeof message.report };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;

    if (heed_runtime_create(desc, &runtime, &message.report) < 0) {
        tell(to, &message);
        return;
    }
    if (heed_device_find(runtime, NULL, &device, NULL) < 0)
        device = NULL;
    tell_name(to, PREFERRED, 0, device);
    tell_all(to, runtime, ask, first);
    heed_runtime_destroy(runtime);
}

/* ---- the parent --------------------------------------------------------- */

struct asked {
    struct child child;
    struct message last;                /* END: it has come to its end */
    char fate[96];                      /* else what became of it, in words */
};

static heed_status begin(const heed_runtime_desc *desc, const struct ask *ask, uint32_t first,
                         struct asked *asked)
{
    const pid_t parent = getpid();
    pid_t pid;

    *asked = (struct asked){ .last.what = 0 };
    pid = child_fork(&asked->child, CHILD_FROM);
    if (pid == 0) {
        child_tie(parent);
        describe_all(asked->child.from, desc, ask, first);
        _exit(EXIT_SUCCESS);
    }
    terminal_expect();
    return pid > 0 ? HEED_OK : HEED_E_NOMEM;
}

/* false: nothing came in time, or nothing will. */
static bool listen(const struct asked *asked, int seconds, struct message *message)
{
    struct pollfd ready = { .fd = asked->child.from, .events = POLLIN };
    int n;

    do
        n = poll(&ready, 1, seconds * 1000);
    while (n < 0 && errno == EINTR);
    return n > 0 && read(ready.fd, message, sizeof *message) == (ssize_t)sizeof *message;
}

enum { DYING_MS = 100, GIVING_BACK_MS = 2000 };

/* Says what became of a child that fell silent; ends it if it still runs. */
static void end(struct asked *asked, int seconds)
{
    const bool good = asked->last.what == END;
    const int how = child_wait(&asked->child, good ? GIVING_BACK_MS : DYING_MS);
    const int status = asked->child.status;

    terminal_wipe();                            /* of what the child has shown */
    if (how != CHILD_ENDED)
        snprintf(asked->fate, sizeof asked->fate, "the driver did not answer in %d s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(asked->fate, sizeof asked->fate, "the driver ended the process (signal %d)",
                 WTERMSIG(status));
    else
        snprintf(asked->fate, sizeof asked->fate, "the driver ended the process (exit status %d)",
                 WEXITSTATUS(status));
    child_end(&asked->child);
}

static heed_status add(struct found *found, const heed_device_props *props, const char *gemm)
{
    heed_device_props *const longer =
        realloc(found->devices, (found->count + 1u) * sizeof *found->devices);
    void *texts;

    if (longer == NULL)
        return HEED_E_NOMEM;
    found->devices = longer;
    texts = realloc(found->gemm, (found->count + 1u) * sizeof *found->gemm);
    if (texts == NULL)
        return HEED_E_NOMEM;
    found->gemm = texts;
    snprintf(found->gemm[found->count], sizeof *found->gemm, "%s", gemm);
    found->devices[found->count++] = *props;
    if (props->kind < ASK_KINDS)
        found->built[props->kind] = true;
    return HEED_OK;
}

static heed_status take(struct found *found, const struct message *message, heed_report *why)
{
    switch ((enum what)message->what) {
    case PREFERRED:
        snprintf(found->preferred, sizeof found->preferred, "%s", message->props.name);
        break;
    case DEVICE:
        return add(found, &message->props, message->gemm);
    case MISSING:
        if (message->index < ASK_KINDS) {
            found->missing[message->index] = message->report;
            found->built[message->index] = message->report.status != HEED_E_NOT_BUILT;
        }
        break;
    case FAILED:
        *why = message->report;
        return message->report.status;
    case LISTING:
    case OPENING:
    case END: break;
    }
    return HEED_OK;
}

/* The device at which a child stopped. */
static heed_status add_broken(struct found *found, const struct asked *asked)
{
    heed_device_props props = { .size = sizeof props, .width = 1, .usable = HEED_E_DEVICE };

    memcpy(props.name, asked->last.props.name, sizeof props.name);
    props.kind = strncmp(props.name, "opencl", 6) == 0 ? HEED_DEVICE_OPENCL
                 : strncmp(props.name, "cuda", 4) == 0 ? HEED_DEVICE_CUDA
                                                       : HEED_DEVICE_PLUGIN;
    snprintf(props.reason, sizeof props.reason, "%s", asked->fate);
    return add(found, &props, "");
}

/* Which driver it was cannot be told: those of all vendors are listed in one go. */
static void miss_all(struct found *found, const struct asked *asked)
{
    static const struct {
        uint32_t kind;
        const char *name;
    } kinds[] = { { HEED_DEVICE_OPENCL, "opencl" }, { HEED_DEVICE_CUDA, "cuda" } };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        heed_report *const report = &found->missing[kinds[i].kind];

        report->status = HEED_E_DEVICE;
        found->built[kinds[i].kind] = true;
        snprintf(report->message, sizeof report->message, "%s: devices cannot be listed: %s",
                 kinds[i].name, asked->fate);
    }
}

heed_status ask_devices(const heed_runtime_desc *desc, const struct ask *ask, struct found *found,
                        heed_report *why)
{
    heed_status status = HEED_OK;
    uint32_t first = 0;

    *found = (struct found){ .count = 0 };
    while (status >= 0) {
        struct asked asked;
        struct message message;

        status = begin(desc, ask, first, &asked);
        if (status < 0)
            return status;
        while (status >= 0 && asked.last.what != END && listen(&asked, ask->seconds, &message)) {
            asked.last = message;
            status = take(found, &message, why);
        }
        end(&asked, ask->seconds);
        if (status < 0 || asked.last.what == END)
            break;
        if (asked.last.what != OPENING) {
            miss_all(found, &asked);
            break;
        }
        status = add_broken(found, &asked);
        first = asked.last.index + 1;
    }
    return status;
}
