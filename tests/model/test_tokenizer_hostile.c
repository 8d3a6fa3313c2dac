/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files that nobody should read: each has its status and its place, wherever a file is cut, and
 * whichever of its bits is wrong, nothing is written or left behind; none takes more memory than
 * 1.2 times its size and 16 MiB.
 */
#include "suite.h"
#include "tokenizer.h"
#include "tokenizer_cases.h"

#include <stdio.h>
#include <sys/resource.h>

enum { CASES = sizeof tokenizer_cases / sizeof *tokenizer_cases };

/* Sanitizers keep more memory than they are asked for. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

/* A file in which "'" stands for '"'; nothing behind it belongs to it, not even a NUL. */
static char *json_of(const char *file, size_t bytes)
{
    char *const json = malloc(bytes > 0 ? bytes : 1);

    ck_assert_ptr_nonnull(json);
    for (size_t i = 0; i < bytes; i++)
        json[i] = file[i] == '\'' ? '"' : file[i];
    return json;
}

/* What is made can be used: ids are in their range, whatever the file says. */
static void use(const struct tokenizer *t)
{
    static const char text[] = "ab  a\xc2\xa0\xcc\x81 <mask>b1'1 \xe4\xb8\xad<s>,\xef\xbf\xbd aaab";
    int32_t *ids, all[64];
    size_t n, bytes;
    char *decoded;

    ck_assert_int_eq(tokenizer_encode(t, text, sizeof text - 1, true, &ids, &n, NULL), HEED_OK);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(ids[i] >= 0 && ids[i] < tokenizer_ids(t), "%d", (int)ids[i]);
    free(ids);
    for (int i = 0; i < 64; i++)
        all[i] = i - 1;
    for (int special = 0; special < 2; special++) {
        ck_assert_int_eq(tokenizer_decode(t, all, 64, special, &decoded, &bytes, NULL), HEED_OK);
        ck_assert(decoded[bytes] == 0);
        free(decoded);
    }
}

/* The status of a file. What is refused has a reason, and is not made. */
static heed_status status_of(const char *json, size_t bytes, heed_report *report)
{
    struct tokenizer *t = NULL;
    heed_status status;

    *report = (heed_report){ .size = sizeof *report };
    status = tokenizer_create(json, bytes, &t, report);
    ck_assert_int_eq(report->status, status);
    if (status == HEED_OK) {
        ck_assert_ptr_nonnull(t);
        use(t);
    } else {
        ck_assert_ptr_null(t);
        ck_assert_msg(*report->field && *report->message, "no reason");
        ck_assert_int_eq(tokenizer_create(json, bytes, &t, NULL), status);
        ck_assert(status == HEED_E_VALUE || status == HEED_E_UNSUPPORTED);
    }
    tokenizer_destroy(t);
    return status;
}

#define MODEL "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']}"
#define WITH(member) "{" MODEL "," member "}"
#define BPE(members) "{'model':{'type':'BPE'," members "}}"
#define WORDS(members) "{'model':{'type':'WordPiece'," members "}}"
#define PIECES(members) "{'model':{'type':'Unigram'," members "}}"
#define UNIGRAM(vocab) PIECES("'unk_id':0,'vocab':[" vocab "]")
#define ADDED(content, flags) \
    "'added_tokens':[{'id':0,'content':" content ",'single_word':false,'lstrip':false," flags "}]"
#define FLAGS "'rstrip':false,'normalized':true,'special':false"
#define NORMAL(step) WITH("'normalizer':" step)
#define SPLIT(step) WITH("'pre_tokenizer':" step)
#define AFTER(step) WITH("'post_processor':" step)
#define DECODER(step) WITH("'decoder':" step)
#define TEMPLATE(single, tokens) \
    AFTER("{'type':'TemplateProcessing','single':" single ",'special_tokens':" tokens "}")
#define MAP(base64) NORMAL("{'type':'Precompiled','precompiled_charsmap':'" base64 "'}")
#define TWICE(a) a "," a

static const struct {
    const char *file;
    heed_status status;
    const char *field;
} wrong[] = {
    /* What is no file. */
    { "", HEED_E_VALUE, "tokenizer" },
    { "null", HEED_E_VALUE, "tokenizer" },
    { "[]", HEED_E_VALUE, "tokenizer" },
    { "{}", HEED_E_VALUE, "tokenizer.model" },
    { "{" MODEL "}}", HEED_E_VALUE, "tokenizer" },
    { "{" MODEL "} {}", HEED_E_VALUE, "tokenizer" },
    { "{" MODEL, HEED_E_VALUE, "tokenizer" },
    { "{" TWICE(MODEL) "}", HEED_E_VALUE, "tokenizer.model" },
    { WITH(TWICE("'decoder':null")), HEED_E_VALUE, "tokenizer.decoder" },
    { WITH(TWICE("'normalizer':null")), HEED_E_VALUE, "tokenizer.normalizer" },
    { WITH(TWICE("'added_tokens':[]")), HEED_E_VALUE, "tokenizer.added_tokens" },
    { WITH("'unread':'\\ud800'"), HEED_E_VALUE, "tokenizer" },
    { WITH("'unread':[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["),
      HEED_E_VALUE, "tokenizer" },
    /* Models. */
    { "{'model':null}", HEED_E_VALUE, "model" },
    { "{'model':{}}", HEED_E_VALUE, "model.vocab" },
    { "{'model':{'type':'WordLevel','vocab':{'a':0}}}", HEED_E_UNSUPPORTED, "model.type" },
    { "{'model':{'type':7}}", HEED_E_VALUE, "model.type" },
    { BPE("'type':'BPE'"), HEED_E_VALUE, "model.type" },
    { BPE("'vocab':{'a':0}"), HEED_E_VALUE, "model.merges" },
    { BPE("'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':[],'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE(TWICE("'vocab':{'a':0}") ",'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':0,'a':1},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':0,'\\u0061':1},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'':0,'':1},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':0,'b':0},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':-1},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':0.5},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':1e3},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':'0'},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':2147483648},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':2147483647},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':18446744073709551616},'merges':[]"), HEED_E_VALUE, "model.vocab" },
    { BPE("'vocab':{'a':0},'merges':{}"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0},'merges':['a a']"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0},'merges':['a b']"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0},'merges':['a']"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0},'merges':['']"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0,'aa':1},'merges':['a  a']"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0,'aa':1},'merges':[['a']]"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0,'aa':1},'merges':[['a','a','a']]"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0,'aa':1},'merges':[['a',1]]"), HEED_E_VALUE, "model.merges" },
    { BPE("'vocab':{'a':0,'aa':1},'merges':[5]"), HEED_E_VALUE, "model.merges" },
    { BPE("'continuing_subword_prefix':'##','vocab':{'a':0,'aa':1},'merges':['a a']"),
      HEED_E_VALUE, "model.merges" },
    { BPE("'unk_token':'?','vocab':{'a':0},'merges':[]"), HEED_E_VALUE, "model.unk_token" },
    { BPE("'fuse_unk':1,'vocab':{'a':0},'merges':[]"), HEED_E_VALUE, "model.fuse_unk" },
    { WORDS("'vocab':{'a':0}"), HEED_E_VALUE, "model.unk_token" },
    { WORDS("'vocab':{'a':0},'unk_token':'?','continuing_subword_prefix':'##',"
            "'max_input_chars_per_word':9"), HEED_E_VALUE, "model.unk_token" },
    { WORDS("'vocab':{'a':0},'unk_token':'a','continuing_subword_prefix':'##',"
            "'max_input_chars_per_word':-9"), HEED_E_VALUE, "model.max_input_chars_per_word" },
    { UNIGRAM(""), HEED_E_VALUE, "model.vocab" },
    { UNIGRAM("'a'"), HEED_E_VALUE, "model.vocab" },
    { UNIGRAM("['a']"), HEED_E_VALUE, "model.vocab" },
    { UNIGRAM("['a',0,0]"), HEED_E_VALUE, "model.vocab" },
    { UNIGRAM("[0,'a']"), HEED_E_VALUE, "model.vocab" },
    { UNIGRAM("['a',1e400]"), HEED_E_VALUE, "model.vocab" },
    { UNIGRAM("['a',NaN]"), HEED_E_VALUE, "tokenizer.model" },
    { PIECES("'vocab':[['a',0]]"), HEED_E_VALUE, "model.unk_id" },
    { PIECES("'unk_id':null,'vocab':[['a',0]]"), HEED_E_VALUE, "model.unk_id" },
    { PIECES("'unk_id':1,'vocab':[['a',0]]"), HEED_E_VALUE, "model.unk_id" },
    { PIECES("'unk_id':-1,'vocab':[['a',0]]"), HEED_E_VALUE, "model.unk_id" },
    { PIECES("'unk_id':4294967296,'vocab':[['a',0]]"), HEED_E_VALUE, "model.unk_id" },
    /* Added tokens. */
    { WITH("'added_tokens':{}"), HEED_E_VALUE, "added_tokens" },
    { WITH("'added_tokens':[0]"), HEED_E_VALUE, "added_tokens" },
    { WITH("'added_tokens':[{'id':0}]"), HEED_E_VALUE, "added_tokens.content" },
    { WITH(ADDED("'x'", "'rstrip':0")), HEED_E_VALUE, "added_tokens.rstrip" },
    { WITH(ADDED("'x'", "'rstrip':false")), HEED_E_VALUE, "added_tokens.normalized" },
    { WITH(ADDED("'x','id':1", FLAGS)), HEED_E_VALUE, "added_tokens.id" },
    { "{" MODEL ",'normalizer':{'type':'Strip','strip_left':true,'strip_right':true},"
      ADDED("' '", FLAGS) "}", HEED_E_VALUE, "added_tokens" },
    /* Steps. */
    { NORMAL("[]"), HEED_E_VALUE, "normalizer.type" },
    { NORMAL("{}"), HEED_E_VALUE, "normalizer.type" },
    { NORMAL("{'type':0}"), HEED_E_VALUE, "normalizer.type" },
    { NORMAL("{" TWICE("'type':'NFC'") "}"), HEED_E_VALUE, "normalizer.type" },
    { NORMAL("{'type':'Other'}"), HEED_E_UNSUPPORTED, "normalizer.type" },
    { NORMAL("{'type':'Sequence'}"), HEED_E_VALUE, "normalizer" },
    { NORMAL("{'type':'Sequence','normalizers':{}}"), HEED_E_VALUE, "normalizer" },
    { NORMAL("{'type':'Sequence','normalizers':[0]}"), HEED_E_VALUE, "normalizer.type" },
    { NORMAL("{'type':'Sequence','normalizers':[{'type':'NFC'}],'normalizers':[]}"),
      HEED_E_VALUE, "normalizer" },
    { NORMAL("{'type':'Strip','strip_left':true}"), HEED_E_VALUE, "normalizer.strip_right" },
    { NORMAL("{'type':'Replace','pattern':{'Regex':'(a+)+'},'content':''}"), HEED_E_UNSUPPORTED,
      "pattern" },
    { NORMAL("{'type':'Replace','pattern':{'String':''},'content':''}"), HEED_E_UNSUPPORTED,
      "pattern" },
    { NORMAL("{'type':'Replace','pattern':'a','content':''}"), HEED_E_VALUE,
      "normalizer.pattern" },
    { NORMAL("{'type':'Replace','pattern':{'String':'a','Regex':' +'},'content':''}"),
      HEED_E_VALUE, "normalizer.pattern" },
    { MAP(""), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("AAA"), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("AAAA!!!!"), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("AAAAAA=="), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("BAAAAAAA"), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("/////wAAAAA="), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("BAAAAAAAAAD/"), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { MAP("AwAAAAAAAAA="), HEED_E_VALUE, "normalizer.precompiled_charsmap" },
    { SPLIT("{'type':'Other'}"), HEED_E_UNSUPPORTED, "pre_tokenizer.type" },
    { SPLIT("{'type':'Metaspace'}"), HEED_E_VALUE, "pre_tokenizer.replacement" },
    { SPLIT("{'type':'Metaspace','replacement':''}"), HEED_E_VALUE, "pre_tokenizer.replacement" },
    { SPLIT("{'type':'Metaspace','replacement':'ab'}"), HEED_E_VALUE,
      "pre_tokenizer.replacement" },
    { SPLIT("{'type':'Metaspace','replacement':'_','prepend_scheme':'often'}"), HEED_E_VALUE,
      "pre_tokenizer.prepend_scheme" },
    { SPLIT("{'type':'Metaspace','replacement':'_','prepend_scheme':'always',"
            "'add_prefix_space':false}"), HEED_E_VALUE, "prepend_scheme" },
    { SPLIT("{'type':'Split','pattern':{'Regex':'.*'},'behavior':'Isolated','invert':false}"),
      HEED_E_UNSUPPORTED, "pattern" },
    { SPLIT("{'type':'Split','pattern':{'String':'a'},'behavior':'Lost','invert':false}"),
      HEED_E_VALUE, "pre_tokenizer.behavior" },
    { AFTER("{'type':'Other'}"), HEED_E_UNSUPPORTED, "post_processor.type" },
    { AFTER("{'type':'BertProcessing','sep':['a',0],'cls':['b',3]}"), HEED_E_VALUE,
      "post_processor" },
    { AFTER("{'type':'BertProcessing','sep':['a',0],'cls':['b',-2]}"), HEED_E_VALUE,
      "post_processor.cls" },
    { AFTER("{'type':'RobertaProcessing','sep':['a',0]}"), HEED_E_VALUE, "post_processor.cls" },
    { AFTER("{'type':'RobertaProcessing','sep':['a'],'cls':['a',0]}"), HEED_E_VALUE,
      "post_processor.sep" },
    { TEMPLATE("[]", "{}"), HEED_E_UNSUPPORTED, "post_processor.single" },
    { TEMPLATE("[" TWICE("{'Sequence':{'id':'A'}}") "]", "{}"), HEED_E_UNSUPPORTED,
      "post_processor.single" },
    { TEMPLATE("[{'Sequence':{'id':'B'}}]", "{}"), HEED_E_UNSUPPORTED, "post_processor.single" },
    { TEMPLATE("[{'Other':{'id':'A'}}]", "{}"), HEED_E_UNSUPPORTED, "post_processor.single" },
    { TEMPLATE("[{'Sequence':{}}]", "{}"), HEED_E_VALUE, "post_processor.single" },
    { TEMPLATE("[{'SpecialToken':{'id':'x'}}]", "{}"), HEED_E_VALUE,
      "post_processor.special_tokens" },
    { TEMPLATE("[{'Sequence':{'id':'A'}},{'SpecialToken':{'id':'x'}}]", "{'x':{'ids':[9]}}"),
      HEED_E_VALUE, "post_processor" },
    { TEMPLATE("[{'SpecialToken':{'id':'x'}}]", "{'x':{'ids':[-1]}}"), HEED_E_VALUE,
      "post_processor.special_tokens" },
    { TEMPLATE("[{'SpecialToken':{'id':'x'}}]", "{" TWICE("'x':{'ids':[0]}") "}"), HEED_E_VALUE,
      "post_processor.special_tokens" },
    { DECODER("{'type':'CTC'}"), HEED_E_UNSUPPORTED, "decoder.type" },
    { DECODER("{'type':'Strip','content':'a','start':-1,'stop':0}"), HEED_E_VALUE,
      "decoder.start" },
    { DECODER("{'type':'BPEDecoder','suffix':''}"), HEED_E_UNSUPPORTED, "decoder.suffix" },
    { DECODER("{'type':'WordPiece','cleanup':true}"), HEED_E_VALUE, "decoder.prefix" },
};

LOOP_TEST(malformed, sizeof wrong / sizeof *wrong)
{
    const size_t bytes = strlen(wrong[_i].file);
    char *const json = json_of(wrong[_i].file, bytes);
    heed_report report;
    const heed_status status = status_of(json, bytes, &report);

    ck_assert_msg(status == wrong[_i].status && strcmp(report.field, wrong[_i].field) == 0,
                  "%s: %s at %s (%s), not %s at %s", wrong[_i].file, heed_status_name(status),
                  report.field, report.message, heed_status_name(wrong[_i].status),
                  wrong[_i].field);
    free(json);
}

/* The members that the ones above are made of are right by themselves. */
TEST(well_formed)
{
    static const char *const right[] = {
        "{" MODEL "}", WITH(ADDED("'x'", FLAGS)), UNIGRAM("['a',0]"),
        NORMAL("null"), NORMAL("{'type':'Sequence','normalizers':[]}"),
        NORMAL("{'type':'Sequence','normalizers':[{'type':'Sequence','normalizers':[]},"
               "{'type':'NFC','unread':[{}]}],'unread':0}"),
        TEMPLATE("[{'Sequence':{'id':'A'}},{'SpecialToken':{'id':'x'}}]", "{'x':{'ids':[2]}}"),
        MAP("BAAAAAAAAAA="), DECODER("{'type':'Strip','content':'a','start':9,'stop':2147483647}"),
        AFTER("{'type':'BertProcessing','sep':['a',0],'cls':['b',2]}"),
    };

    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char *const json = json_of(right[i], strlen(right[i]));
        heed_report report;

        ck_assert_msg(status_of(json, strlen(right[i]), &report) == HEED_OK, "%s: %s: %s", right[i],
                      report.field, report.message);
        free(json);
    }
}

LOOP_TEST(cut, CASES)
{
    const char *const file = tokenizer_cases[_i].file;

    for (size_t n = 0; n < strlen(file); n++) {
        char *const json = json_of(file, n);
        heed_report report;

        ck_assert_msg(status_of(json, n, &report) == HEED_E_VALUE, "%s cut at %zu",
                      tokenizer_cases[_i].name, n);
        free(json);
    }
}

LOOP_TEST(flipped, CASES)
{
    const size_t bytes = strlen(tokenizer_cases[_i].file);
    char *const json = json_of(tokenizer_cases[_i].file, bytes);
    heed_report report;
    int refused = 0;

    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        if (!suite_turn(bit + (size_t)_i, 5))
            continue;
        json[bit / 8] ^= (char)(1 << bit % 8);
        refused += status_of(json, bytes, &report) != HEED_OK;
        json[bit / 8] ^= (char)(1 << bit % 8);
    }
    ck_assert_int_gt(refused, 100);
    ck_assert_int_eq(status_of(json, bytes, &report), HEED_OK);
    free(json);
}

/* ---- memory */

struct text {
    char *at;
    size_t bytes, room;
};

static void put(struct text *text, const char *part)
{
    const size_t n = strlen(part);

    ck_assert_uint_le(text->bytes + n, text->room);
    memcpy(text->at + text->bytes, part, n);
    text->bytes += n;
}

/* The number in letters: as many different texts as there are numbers. */
static const char *letters(size_t number, size_t least, char to[16])
{
    size_t n = 0;

    for (; number > 0 || n < least; number /= 26)
        to[n++] = (char)('a' + number % 26);
    to[n] = 0;
    return to;
}

static void put_tokens(struct text *text, size_t n)
{
    char word[16], member[48];

    put(text, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"\":0");
    for (size_t i = 1; i < n; i++) {
        snprintf(member, sizeof member, ",\"%s\":%zu", letters(i, 1, word), i);
        put(text, member);
    }
    put(text, "}}}");
}

static void put_pairs(struct text *text, size_t n)
{
    char word[16], member[48];

    put(text, "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\",0]");
    for (size_t i = 1; i < n; i++) {
        snprintf(member, sizeof member, ",[\"%s\",0]", letters(i, 1, word));
        put(text, member);
    }
    put(text, "]}}");
}

/* Tokens of which no two have a beginning in common, for as long as tokens may be. */
static void put_long(struct text *text, size_t n)
{
    uint32_t random = 1;
    char member[48];

    put(text, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"\":0");
    for (size_t i = 1; i < n / 64; i++) {
        put(text, ",\"");
        for (int k = 0; k < 900; k++) {
            const char letter[2] = { (char)('a' + (random >> 16) % 26), 0 };

            random = random * 1664525 + 1013904223;
            put(text, letter);
        }
        snprintf(member, sizeof member, "\":%zu", i);
        put(text, member);
    }
    put(text, "}}}");
}

/* All words of one to three letters and of four from the first ones, made of all of their pairs. */
static void put_merges(struct text *text, size_t n)
{
    char word[16], member[48];
    size_t id = 0, words = 26 * 26 * 26;

    put(text, "{\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (size_t bytes = 1, most = 26; bytes <= 3; bytes++, most *= 26)
        for (size_t i = 0; i < most; i++, id++) {
            snprintf(member, sizeof member, "%s\"%s\":%zu", id > 0 ? "," : "",
                     letters(i, bytes, word), id);
            put(text, member);
        }
    put(text, "},\"merges\":[\"a a\"");
    for (size_t i = 0; i < n; i++) {
        letters(i % words, 3, word);
        snprintf(member, sizeof member, i / words % 2 ? ",\"%.1s %s\"" : ",\"%.2s %s\"", word,
                 word + (i / words % 2 ? 1 : 2));
        put(text, member);
    }
    put(text, "]}}");
}

static void put_added(struct text *text, size_t n)
{
    char word[16], member[200];

    put(text, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"a\":0}},"
              "\"normalizer\":{\"type\":\"Lowercase\"},\"added_tokens\":[");
    for (size_t i = 0; i < n / 4 && i < 1 << 16; i++) {
        snprintf(member, sizeof member,
                 "%s{\"id\":0,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,"
                 "\"rstrip\":false,\"normalized\":true,\"special\":false}",
                 i > 0 ? "," : "", letters(i, 4, word));
        put(text, member);
    }
    put(text, "]}");
}

static void put_nothing(struct text *text, size_t n)
{
    put(text, "{\"unread\":[");
    for (size_t i = 0; i < 4 * n; i++)
        put(text, "{},");
    put(text, "0],\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"a\":0}}}");
}

static void put_one(struct text *text, size_t n)
{
    put(text, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"");
    for (size_t i = 0; i < 16 * n; i++)
        put(text, "a");
    put(text, "\":0}}}");
}

static const struct {
    void (*put)(struct text *text, size_t n);
    heed_status status;
} large[] = {
    { put_tokens, HEED_OK }, { put_pairs, HEED_OK }, { put_long, HEED_E_UNSUPPORTED },
    { put_merges, HEED_OK }, { put_added, HEED_OK }, { put_nothing, HEED_OK },
    { put_one, HEED_E_UNSUPPORTED },
};

static size_t most_memory(void)
{
    struct rusage usage;

    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_maxrss * 1024;
}

/* What the process has at most, of which the allocator keeps a little for itself. */
LOOP_TEST(memory, sizeof large / sizeof *large)
{
    const size_t n = suite_all() ? 500000 : 100000, slack = 2 << 20;
    struct text text = { .room = 64 * n + (1 << 20) };
    heed_report report = { .size = sizeof report };
    struct tokenizer *t = NULL;
    size_t before, after;

    text.at = malloc(text.room);
    ck_assert_ptr_nonnull(text.at);
    large[_i].put(&text, n);
    before = most_memory();
    ck_assert_msg(tokenizer_create(text.at, text.bytes, &t, &report) == large[_i].status,
                  "%s: %s", report.field, report.message);
    after = most_memory();
    ck_assert_msg(SANITIZED || after - before <= text.bytes + text.bytes / 5 + (16 << 20) + slack,
                  "%zu bytes take %zu", text.bytes, after - before);
    tokenizer_destroy(t);
    free(text.at);
}

int main(void)
{
    return suite_run("tokenizer-hostile", 60, NULL, NULL);
}
