/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Key-value vectors of salient content: a prefix of keys and values, projected already, before
 * those of the segment (Cao and Wang 2023, section 3.2).
 */
#include "build.h"

enum { DESC_V1 = 1080 };
_Static_assert(sizeof(heed_salient_desc) == DESC_V1, "heed_salient_desc may only grow");

heed_status heed_salient(const heed_salient_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_salient_desc d;
    int64_t n = 0, prefix;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0)
        status = heed_builder_keys(&b, "prefix", &d.prefix, &prefix);
    if (status < 0)
        return status;
    heed_builder_source(&b, &d.prefix, 1);
    heed_builder_source(&b, &d.text, 0);
    return heed_builder_finish(&b, out);
}
