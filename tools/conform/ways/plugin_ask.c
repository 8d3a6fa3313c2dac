/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plug-in takes, asked of its query in a process that answers one question after another.
 * Where a question ends that process, or takes too long, the case counts as failed, and another
 * process goes on behind it.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"
#include "conform/engine/subject.h"

#include "common/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_HANGS = 3, MAX_MISUSES = 3 };

/* ---- the process that is asked ------------------------------------------------ */

/* The descriptor of the question's case, whose contents are not there. */
static void question_answer(const struct plugin *plugin, const heed_kernel_api *api)
{
    struct job *job = cf_open(&plugin->control->question, 0, false);

    if (job) {
        *job->numerics_wanted = api->numerics;
        plugin_ask(plugin, api, job->desc);
    } else {
        plugin->control->status = HEED_E_NOMEM;
    }
    cf_close(job);
}

static void questions_answer(const struct plugin *plugin, const heed_kernel_api *api, void *arg)
{
    char mark;

    (void)arg;
    plugin->control->numerics = api->numerics;
    while (read(plugin->asked.to, &mark, 1) == 1) {
        alarm((unsigned)plugin->seconds + 5);
        question_answer(plugin, api);
        alarm(0);
        if (write(plugin->asked.from, "\n", 1) != 1)
            break;
    }
    plugin->control->stage = STAGE_END;
}

/* ---- who asks ------------------------------------------------------------------- */

static bool asked_there(struct plugin *plugin)
{
    if (plugin->asked.pid)
        return true;
    plugin->answers.n = plugin->answers.begin = 0;
    return plugin_start(plugin, plugin->asked_control, questions_answer, NULL, true,
                        &plugin->asked);
}

static struct outcome asked_end(struct plugin *plugin, int64_t seconds)
{
    child_close(&plugin->asked);
    return plugin_wait(plugin, plugin->asked_control, &plugin->asked, seconds);
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
    const int64_t end = child_clock() + plugin->seconds * 1000;
    struct outcome outcome;
    struct verdict v = { 0 };
    char *line;
    int heard;

    plugin->asked_control->question = *c;
    heard = child_tell(&plugin->asked, "?", 1, end);
    if (heard == HEARD)
        heard = child_line(&plugin->asked, &plugin->answers, end, &line);
    if (heard == HEARD)
        return true;
    outcome = asked_end(plugin, heard == HEARD_NOTHING ? 0 : 1);
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
        if (!report->field[0])
            strcpy(report->field, "(no field)");
        text_plain(report->field);
        text_plain(report->message);
        report->status = HEED_E_UNSUPPORTED;
        return true;
    }
    misuse(plugin, c, status);
    report_say(report, "query", "query answered with another status");
    return true;
}
