/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * On systems without fork there is no --peer, and no folders of cases.
 */
#include "conform/ways/peer.h"

#include "common/text.h"

int peer_run(struct session *session, int argc, char **argv)
{
    (void)session;
    (void)argc;
    (void)argv;
    fprintf(stderr, "heed-conform: --peer, --dump and --judge need fork, which this system has "
                    "not\n");
    return EXIT_USAGE;
}
