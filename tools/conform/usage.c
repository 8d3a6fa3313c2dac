/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text of heed-conform --help, in the form that tools/common/command.h gives to all tools.
 */
#include "conform.h"
#include "session.h"
#include "usage.h"

#include <string.h>

static const char usage[] =
    "usage: heed-conform [OPTION]...\n"
    "\n"
    "Tests every device against the reference and against the definitions of the operations.\n"
    "Prints TAP, and as its last line \"N passed, N failed, N skipped\".\n"
    "\n"
    "Options:\n"
    "  --device DEVICE only this device (default: every usable, exact one)\n"
    "  --op OPERATION  only this operation, of those named below\n"
    "  --cases N       how many cases to draw (default 4000), half of them of attention\n"
    "  --seed S        another set of cases (default 1)\n"
    "  --case TEXT     only the case of this line\n"
    "  --family exact|bits|bound|meta|error|check|named|mechanisms\n"
    "                  only this family of tests\n"
    "  --partial       the device (--device) may refuse legal cases with HEED_E_UNSUPPORTED\n"
    "                  and the first field that it does not take; cases are drawn from what it\n"
    "                  takes, as its refusals show, until N are accepted\n"
    "  --only TEXT     only drawn cases at these levels, as --list names them: 'q=f32,f16 ns=1'\n"
    "  --threads N     threads of the second run of a case (default 2)\n"
    "  --plugin FILE   a kernel of somebody else (heed/plugin.h), on attention\n"
    "  --timeout S     seconds that a case may take a plug-in (default 10)\n"
    "  --memory MIB    memory that a plug-in may have (default 1024; 0: any)\n"
    "  --verbose       also pairs of features that cannot go together, and worst errors\n"
    "  --quiet         only the summary\n"
    "  --list          print the axes that cases of an operation (attn) are drawn from\n"
    "  --version       print name, version and how the library was built\n"
    "  -h, --help      print this text\n";

static const char usage_end[] =
    "\n"
    "Examples:\n"
    "  heed-conform --device cpu --family bits --cases 200 --quiet\n"
    "      the bits of one device, in a few seconds\n"
    "  heed-conform --device cpu --op pool --cases 100\n"
    "      one operation on one device\n"
    "  heed-conform --device cpu --case 'op=attn seed=1'\n"
    "      one case again, as a failure has named it\n"
    "  heed-conform --plugin ./mykernel.so --cases 200\n"
    "      a kernel of your own, in processes of its own\n"
    "\n"
    "Exit status:\n"
    "  0 nothing failed, 1 a case failed or no device could be tested, 2 wrong usage.\n";

void usage_print(FILE *to)
{
    fprintf(to, "%s\nOperations:\n", usage);
    for (int i = 0; i < cf_n_ops; i++)
        fprintf(to, "  %s\n", cf_ops[i]->name);
    fputs(usage_end, to);
}

const char *usage_wanted(const char *name)
{
    static const struct {
        const char *name, *wanted;
    } rows[] = {
        { "--op", "an operation that heed-conform --help names" },
        { "--cases", "a whole number from 0 to 10000000" },
        { "--seed", "a whole number from 0" },
        { "--threads", "a whole number from 1 to 1024" },
        { "--timeout", "a whole number from 1 to 86400" },
        { "--memory", "a whole number from 0 to 1048576" },
        { "--family", "exact, bits, bound, meta, error, check, named or mechanisms" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(rows[i].name, name))
            return rows[i].wanted;
    }
    return "a value";
}
