/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases as folders of arrays (--dump), and what somebody wrote into them (--judge). The line in
 * case.json makes a case again; nothing else in the folder is believed.
 */
#define _XOPEN_SOURCE 700

#include "peer.h"
#include "conform/engine/cover.h"
#include "conform/engine/run.h"
#include "conform/engine/tap.h"

#include "common/json.h"
#include "common/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4000, TEXT_MOST = 1 << 20, FOLDERS_MOST = 1000000 };

/* ---- out ----------------------------------------------------------------------- */

static bool folder_there(const char *path)
{
    struct stat about;

    return mkdir(path, 0777) == 0 ||
           (errno == EEXIST && stat(path, &about) == 0 && S_ISDIR(about.st_mode));
}

/* The files of one case, or of one form; what its outputs must be is in case.json. */
static bool plain_dump(const struct plain *plain, const char *folder)
{
    char path[PATH + 64];
    bool good = folder_there(folder) && plain_write(plain, folder, false);
    FILE *file;

    snprintf(path, sizeof path, "%s/case.json", folder);
    file = good ? fopen(path, "w") : NULL;
    if (file) {
        plain_print(plain, "", false, file);
        fputc('\n', file);
    }
    good = file && !ferror(file);
    return file && fclose(file) == 0 && good;
}

/* The folder of a form lies beside that of its case. */
static void form_folder(char out[PATH + 32], const char *folder, const struct form *form)
{
    snprintf(out, PATH + 32, "%s%s%s", folder, form->name[0] ? "." : "", form->name);
}

/* Nothing is computed: only of the case itself it says so, that its forms are written, too. */
static bool form_write(void *context, const struct peer_form *form, struct verdict *v)
{
    char folder[PATH + 32];

    form_folder(folder, context, form->form);
    if (!plain_dump(&form->plain, folder))
        cf_fail(v, "no folder");
    return !form->form->name[0];
}

static bool case_write(struct session *session, const struct cs *c, char *folder)
{
    struct form_runner forms = { .session = session, .c = c, .exchange = form_write,
                                 .context = folder };
    struct verdict v = { 0 };
    struct peer_case k;
    const char *skip;
    bool good;

    if (session->o.families == FAMILY_INVARIANCE) {
        (void)peer_invariance(&forms, &v);
        return !v.failed;
    }
    good = peer_case_make(session, &k, c, &skip) && plain_dump(&k.plain[0], folder);
    peer_case_finish(&k);
    return good;
}

/* Lines that the options name: one, or drawn ones. */
static int64_t cases_write(struct session *session)
{
    const struct options *o = &session->o;
    struct rng r = rng_of(cf_mix2((uint64_t)o->seed, 4242));
    const int64_t most = o->text ? 1 : o->cases;
    int64_t written = 0;

    for (int64_t i = 0; written < most && i < most * 20; i++) {
        char folder[PATH], why[128];
        struct cs c;

        if (o->text ? !cf_case_parse(o->text, &c, why) : !peer_draw_any(session, &r, i, &c))
            continue;
        snprintf(folder, sizeof folder, "%s/%06lld", o->dump, (long long)written + 1);
        if (!case_write(session, &c, folder)) {
            fprintf(stderr, "heed-conform: %s cannot be written\n", folder);
            return written;
        }
        written++;
    }
    return written;
}

int folder_dump(struct session *session)
{
    int64_t written;

    if (strlen(session->o.dump) > PATH - 64 || !folder_there(session->o.dump)) {
        fprintf(stderr, "heed-conform: --dump %s: it cannot be made a folder\n", session->o.dump);
        return EXIT_FAILED;
    }
    written = cases_write(session);
    printf("%lld cases written\n", (long long)written);
    return written == (session->o.text ? 1 : session->o.cases) ? EXIT_DONE : EXIT_FAILED;
}

/* ---- back ----------------------------------------------------------------------- */

/* All of a small plain file, to be freed. */
static char *text_read(const char *path)
{
    const int number = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char *text = NULL;
    struct stat about;

    if (number < 0)
        return NULL;
    if (fstat(number, &about) == 0 && S_ISREG(about.st_mode) && about.st_size < TEXT_MOST) {
        const size_t size = (size_t)about.st_size;

        text = malloc(size + 1);
        if (text && read(number, text, size) != (ssize_t)size) {
            free(text);
            text = NULL;
        }
        if (text)
            text[size] = '\0';
    }
    close(number);
    return text;
}

/* The case of a folder. false: `why` begins with a verdict. */
static bool case_read(const char *folder, struct cs *c, char line[LINE], char *why, size_t size)
{
    char path[PATH + 16], wrong[128];
    char *text;
    bool good;

    snprintf(path, sizeof path, "%s/case.json", folder);
    text = text_read(path);
    good = text && json_object(text) && json_member(text, "line", line, LINE);
    free(text);
    if (!good) {
        snprintf(why, size, "file: case.json has no line of a case");
        return false;
    }
    if (!cf_case_parse(line, c, wrong)) {
        snprintf(why, size, "file: the line in case.json: %s", wrong);
        return false;
    }
    if (cf_op->work(c) > cf_limit_big) {
        snprintf(why, size, "file: case.json has a huge case");
        return false;
    }
    return true;
}

/* Of the first output. */
static bool output_there(const struct plain *plain, const char *folder, char skip[64])
{
    char path[PATH + 64];
    struct stat about;
    int i = 0;

    while (i < plain->n && !plain->array[i].output)
        i++;
    snprintf(path, sizeof path, "%s/%s.npy", folder, plain->array[i].name);
    snprintf(skip, 64, "there is no %s.npy", plain->array[i].name);
    return lstat(path, &about) == 0;
}

/* Forms without outputs are not judged. */
static bool form_read(void *context, const struct peer_form *form, struct verdict *v)
{
    char folder[PATH + 32], why[512], none[64];

    form_folder(folder, context, form->form);
    if (!output_there(&form->plain, folder, none))
        return false;
    if (!plain_read(&form->plain, folder, why, sizeof why))
        cf_fail(v, "%s", why);
    return !v->failed;
}

/* Is the folder that of a form, which is judged with its case? */
static bool is_form(const char *name)
{
    const char *const dot = strrchr(name, '.');

    for (int i = 0; dot && i < cf_n_properties; i++) {
        const size_t n = strlen(cf_properties[i].name);

        if (!strncmp(dot + 1, cf_properties[i].name, n) && dot[1 + n] == '-')
            return true;
    }
    return false;
}

static void folder_forms(struct session *session, char *folder, const char *name)
{
    struct verdict v = { 0 };
    const char *skip = NULL;
    char line[LINE] = "", why[512];
    struct cs c;
    struct form_runner forms = { .session = session, .c = &c, .exchange = form_read,
                                 .context = folder, .absent = "there are no outputs" };

    if (!case_read(folder, &c, line, why, sizeof why))
        cf_fail(&v, "%s", why);
    else
        skip = peer_invariance(&forms, &v);
    cf_tell_case(&session->tally, name, "case", line[0] ? line : name, skip ? skip : "", &v);
}

static void folder_case(struct session *session, const char *folder, const char *name)
{
    struct verdict v = { 0 };
    struct peer_case k = { 0 };
    const char *skip = NULL;
    char line[LINE] = "", why[512], none[64];
    struct cs c;

    if (!case_read(folder, &c, line, why, sizeof why))
        cf_fail(&v, "%s", why);
    else if (!peer_case_make(session, &k, &c, &skip) && !skip)
        cf_fail(&v, "no memory");
    else if (!skip && !output_there(&k.plain[0], folder, none))
        skip = none;
    else if (!skip && !plain_read(&k.plain[0], folder, why, sizeof why))
        cf_fail(&v, "%s", why);
    else if (!skip)
        peer_case_judge(session, &k, false, &v);
    peer_case_finish(&k);
    cf_tell_case(&session->tally, name, "case", line[0] ? line : name, skip ? skip : "", &v);
}

static void folder_judged(struct session *session, char *folder, const char *name)
{
    if (session->o.families != FAMILY_INVARIANCE)
        folder_case(session, folder, name);
    else if (!is_form(name))
        folder_forms(session, folder, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of what is in the folder, sorted, to be freed each. */
static char **names_read(const char *folder, size_t *n)
{
    DIR *files = opendir(folder);
    char **names = NULL;
    size_t room = 0;

    *n = 0;
    for (const struct dirent *file; files && (file = readdir(files));) {
        if (file->d_name[0] == '.' || *n == FOLDERS_MOST)
            continue;
        if (*n == room) {
            char **more = realloc(names, (room = 2 * room + 64) * sizeof *names);

            if (!more)
                break;
            names = more;
        }
        names[*n] = strdup(file->d_name);
        *n += names[*n] != NULL;
    }
    if (files)
        closedir(files);
    if (*n)
        qsort(names, *n, sizeof *names, by_name);
    return names;
}

/* A name may have ends of lines, which would make lines of TAP. */
static void name_plain(char *name)
{
    for (; *name; name++) {
        if ((unsigned char)*name < 0x20)
            *name = '?';
    }
}

int folder_judge(struct session *session)
{
    char folder[PATH];
    size_t n;
    char **names;
    struct stat there;

    if (stat(session->o.judge, &there) != 0 || !S_ISDIR(there.st_mode)) {
        fprintf(stderr, "heed-conform: --judge: wanted a folder that there is, got \"%s\"\n",
                session->o.judge);
        return EXIT_USAGE;
    }
    names = names_read(session->o.judge, &n);
    for (size_t i = 0; i < n; i++) {
        struct stat about;
        const int length = snprintf(folder, sizeof folder, "%s/%s", session->o.judge, names[i]);

        name_plain(names[i]);
        if (length < (int)sizeof folder && stat(folder, &about) == 0 && S_ISDIR(about.st_mode))
            folder_judged(session, folder, names[i]);
        free(names[i]);
    }
    free(names);
    return walk_summary(session, NULL);
}
