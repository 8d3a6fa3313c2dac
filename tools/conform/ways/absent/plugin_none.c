/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * On systems without processes that share memory there is no --plugin.
 */
#include "conform/ways/plugin.h"

#include "common/text.h"

bool plugin_options_good(const struct options *o)
{
    (void)o;
    return true;
}

int plugin_run(struct session *session, int argc, char **argv)
{
    (void)session;
    (void)argc;
    (void)argv;
    fprintf(stderr, "heed-conform: --plugin needs fork and mmap, which this system has not\n");
    return EXIT_USAGE;
}
