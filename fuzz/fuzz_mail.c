/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as e-mail.
 */
#include "reading.h"

static const char *const texts[] = {
    "From: Ann <a@b.c>\nTo: b\nSubject: =?utf-8?Q?M=C3=A4rz?= =?utf-8?B?w6Q=?=\n",
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n--x\n",
    "Content-Type: text/plain; charset=iso-8859-1\n",
    "Content-Transfer-Encoding: quoted-printable\n\nHi all,\n\nThis is =E4 text=\n. It ends.\n",
    "--x\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\nPHA+SGk8L3A+\n--x--\n",
    "\nOn Monday, Bob wrote:\n> quoted\n\nBest regards,\nAnn\n-- \nsig\n\n",
    "From a@b Mon\nFrom: B <b@c>\nSubject: y\n\nA body of words. And more.\n\n"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading("mail", data, size);
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    return fuzz_reading_seed(number, texts, sizeof(texts) / sizeof(*texts), data);
}
