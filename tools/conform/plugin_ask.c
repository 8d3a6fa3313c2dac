/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plug-in takes, asked of its query in a process that answers one question after another.
 * Where a question ends that process, or takes too long, the case counts as failed, and another
 * process goes on behind it.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

enum { MAX_HANGS = 3, MAX_MISUSES = 3 };

/* ---- the process that is asked ------------------------------------------------ */

/* The descriptor of the question's case, whose contents are not there. */
static void question_answer(const struct plugin *plugin, const heed_kernel_api *api)
{
    struct problem *p = cf_problem_make(&plugin->control->question, NULL, 0, false);
    struct call *call = calloc(1, sizeof *call);

    if (p && call && cf_call_describe(call, p, 0)) {
        call->desc.numerics = api->numerics;
        plugin_ask(plugin, api, &call->desc);
    } else {
        plugin->control->status = HEED_E_NOMEM;
    }
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(p);
}

static void questions_answer(const struct plugin *plugin, const heed_kernel_api *api, void *arg)
{
    char mark;

    (void)arg;
    plugin->control->numerics = api->numerics;
    while (read(plugin->asked.ask, &mark, 1) == 1) {
        alarm((unsigned)plugin->seconds + 5);
        question_answer(plugin, api);
        alarm(0);
        if (write(plugin->asked.say, &mark, 1) != 1)
            break;
    }
    plugin->control->stage = STAGE_END;
}

/* ---- who asks ------------------------------------------------------------------- */

static bool asked_there(struct plugin *plugin)
{
    if (plugin->asked.pid == 0 &&
        !plugin_start(plugin, plugin->asked_control, questions_answer, NULL, true, &plugin->asked))
        plugin->asked.pid = 0;
    return plugin->asked.pid > 0;
}

/* 1: it has answered; 0: it has ended; -1: it takes too long. */
static int answer_wait(struct plugin *plugin)
{
    struct timeval t = { .tv_sec = (time_t)plugin->seconds };

    for (;;) {
        const int say = plugin->asked.say, printed = plugin->asked.printed;
        fd_set set;
        char mark;

        FD_ZERO(&set);
        FD_SET(say, &set);
        if (printed >= 0)
            FD_SET(printed, &set);
        if (select((say > printed ? say : printed) + 1, &set, NULL, NULL, &t) <= 0)
            return -1;
        if (FD_ISSET(say, &set))
            return read(say, &mark, 1) == 1;
        plugin_drain(plugin, &plugin->asked);
        if (t.tv_sec == 0 && t.tv_usec == 0) /* what select left of it */
            return -1;
    }
}

static struct outcome asked_end(struct plugin *plugin, int64_t seconds)
{
    struct child child = plugin->asked;
    struct outcome outcome;

    plugin->asked.pid = 0;
    close(child.ask);
    outcome = plugin_wait(plugin, plugin->asked_control, &child, seconds);
    close(child.say);
    return outcome;
}

void plugin_ask_end(struct plugin *plugin)
{
    if (plugin->asked.pid)
        asked_end(plugin, plugin->seconds);
}

static void asked_failed(struct plugin *plugin, const struct cs *c, const char *why)
{
    char line[LINE];

    cf_case_print(c, line);
    cf_tap(&plugin->session->tally, false, NULL, "plug-in", "query", line, why);
    if (!plugin->session->tally.quiet)
        plugin_said_print(plugin, stdout);
    if (++plugin->hangs >= MAX_HANGS)
        plugin->session->given_up = true;
}

/* What is neither yes nor an honest no. */
static void misuse(struct plugin *plugin, const struct cs *c, heed_status status)
{
    char why[128], line[LINE];

    if (plugin->misuses++ >= MAX_MISUSES)
        return;
    snprintf(why, sizeof why, "status: query answers %s (%d), which it may not",
             heed_status_name(status), (int)status);
    cf_case_print(c, line);
    cf_tap(&plugin->session->tally, false, NULL, "plug-in", "query", line, why);
}

/* true: it has answered, and control has what. */
static bool question_put(struct plugin *plugin, const struct cs *c)
{
    struct outcome outcome;
    struct verdict v = { 0 };
    int answer = 0;

    plugin->asked_control->question = *c;
    if (write(plugin->asked.ask, "?", 1) == 1)
        answer = answer_wait(plugin);
    if (answer > 0)
        return true;
    outcome = asked_end(plugin, answer < 0 ? 0 : 1);
    plugin_judge_end(plugin, NULL, &outcome, &v);
    asked_failed(plugin, c, v.failed ? v.why : "exit: the process ended in query");
    return false;
}

static void report_say(heed_report *report, const char *field, const char *message)
{
    *report = (heed_report){ .size = sizeof *report, .status = HEED_E_UNSUPPORTED };
    snprintf(report->field, sizeof report->field, "%s", field);
    snprintf(report->message, sizeof report->message, "%s", message);
}

bool plugin_refuses(void *who, const struct cs *c, heed_report *report)
{
    struct plugin *plugin = who;
    const struct control *control = plugin->asked_control;
    heed_status status;

    report_say(report, "query", "query gave no answer");
    if (plugin->session->given_up)
        return true;
    if (!asked_there(plugin)) {
        asked_failed(plugin, c, "memory: no process can be made");
        return true;
    }
    if (!question_put(plugin, c))
        return true;
    status = control->status;
    if (status == HEED_OK)
        return false;
    if (status == HEED_E_UNSUPPORTED) {
        *report = control->report;
        report->field[sizeof report->field - 1] = '\0';
        report->message[sizeof report->message - 1] = '\0';
        report->status = HEED_E_UNSUPPORTED;
        return true;
    }
    misuse(plugin, c, status);
    report_say(report, "query", "query answered with another status");
    return true;
}
