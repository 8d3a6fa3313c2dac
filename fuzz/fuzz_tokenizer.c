/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a tokenizer.json, up to the first NUL, and as a text, behind it: ids are those that
 * the tokenizer has, texts are UTF-8, and both are the same when they are asked for again.
 */
#include "fuzz.h"

#include "model/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void judge(const struct tokenizer *t, const char *text, size_t bytes)
{
    for (int special = 0; special < 2; special++) {
        int32_t *ids[2];
        char *texts[2];
        size_t n[2], sizes[2];

        for (int i = 0; i < 2; i++) {
            FUZZ_REQUIRE(tokenizer_encode(t, text, bytes, special, &ids[i], &n[i], NULL) ==
                         HEED_OK, "no ids");
            FUZZ_REQUIRE(tokenizer_decode(t, ids[i], n[i], special, &texts[i], &sizes[i], NULL) ==
                         HEED_OK, "no text");
        }
        FUZZ_REQUIRE(n[0] == n[1], "%zu ids, then %zu", n[0], n[1]);
        FUZZ_REQUIRE(n[0] == 0 || memcmp(ids[0], ids[1], n[0] * sizeof *ids[0]) == 0, "other ids");
        FUZZ_REQUIRE(sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0] + 1) == 0,
                     "another text");
        for (size_t i = 0; i < n[0]; i++)
            FUZZ_REQUIRE(ids[0][i] >= 0 && ids[0][i] < tokenizer_ids(t), "the id %d of %lld",
                         (int)ids[0][i], (long long)tokenizer_ids(t));
        FUZZ_REQUIRE(texts[0][sizes[0]] == 0 && utf8_valid(texts[0], sizes[0]), "no UTF-8");
        for (int i = 0; i < 2; i++) {
            free(ids[i]);
            free(texts[i]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const file = (const char *)data;
    const char *const end = size > 0 ? memchr(file, 0, size) : NULL;
    const size_t bytes = end ? (size_t)(end - file) : size;
    heed_report report = { .size = sizeof report };
    struct tokenizer *t = NULL;
    const heed_status status = tokenizer_create(file, bytes, &t, &report);

    if (status == HEED_OK)
        judge(t, end ? end + 1 : file, end ? size - bytes - 1 : size);
    else
        FUZZ_REQUIRE((status == HEED_E_VALUE || status == HEED_E_UNSUPPORTED) && !t &&
                     *report.field && *report.message, "refused without a reason: %s",
                     heed_status_name(status));
    tokenizer_destroy(t);
    return 0;
}

/* Every kind of part is in one of the first seeds. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    static const char *const models[] = {
        "'BPE','vocab':{'a':0,'b':1,'ab':2,'\xc4\xa0':3,'\xc4\xa0" "ab':4,'<0xC3>':5,'c</w>':6},"
        "'merges':['a b','\xc4\xa0 ab'],'unk_token':'a','byte_fallback':true,'fuse_unk':true,"
        "'end_of_word_suffix':'</w>'",
        "'WordPiece','vocab':{'a':0,'b':1,'##b':2,'[UNK]':3,'##ab':4,'.':5,'\xe4\xb8\xad':6},"
        "'unk_token':'[UNK]','continuing_subword_prefix':'##','max_input_chars_per_word':9",
        "'Unigram','vocab':[['<unk>',0],['a',-1.5],['b',-2],['ab',-2.5],['\xe2\x96\x81',-3],"
        "['\xe2\x96\x81" "ab',-4.25],['<0xC3>',-9]],'unk_id':0,'byte_fallback':true",
    };
    static const char *const normalizers[] = {
        "{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':true,"
        "'strip_accents':null,'lowercase':true}",
        "{'type':'Sequence','normalizers':[{'type':'NFKD'},{'type':'StripAccents'},{'type':'NFC'},"
        "{'type':'Replace','pattern':{'Regex':' {2,}'},'content':'\xe2\x96\x81'}]}",
        "{'type':'Precompiled','precompiled_charsmap':'CAAAAAEIAAAABAAAAAA='}",
        "{'type':'Sequence','normalizers':[{'type':'Prepend','prepend':'a'},{'type':'Lowercase'},"
        "{'type':'Nmt'},{'type':'Strip','strip_left':true,'strip_right':true}]}",
        "{'type':'Sequence','normalizers':[{'type':'NFKC'},{'type':'NFD'},{'type':'ByteLevel'}]}",
    };
    static const char *const splitters[] = {
        "{'type':'ByteLevel','add_prefix_space':true}", "{'type':'BertPreTokenizer'}",
        "{'type':'Sequence','pretokenizers':[{'type':'WhitespaceSplit'},{'type':'Metaspace',"
        "'replacement':'\xe2\x96\x81','prepend_scheme':'first'}]}",
        "{'type':'Sequence','pretokenizers':[{'type':'Punctuation','behavior':'Contiguous'},"
        "{'type':'Digits','individual_digits':false},{'type':'Whitespace'}]}",
        "{'type':'Split','pattern':{'String':'a'},'behavior':'MergedWithNext','invert':true}",
    };
    static const char *const processors[] = {
        "{'type':'RobertaProcessing','sep':['b',1],'cls':['a',0]}", "{'type':'ByteLevel'}",
        ("{'type':'TemplateProcessing','single':[{'Sequence':{'id':'A'}},{'SpecialToken':"
         "{'id':'x'}}],'special_tokens':{'x':{'ids':[1,2]}}}"),
    };
    static const char *const decoders[] = {
        "{'type':'ByteLevel'}", "{'type':'WordPiece','prefix':'##','cleanup':true}",
        "{'type':'Metaspace','replacement':'\xe2\x96\x81'}",
        ("{'type':'Sequence','decoders':[{'type':'Replace','pattern':{'String':'a'},'content':''},"
         "{'type':'ByteFallback'},{'type':'Fuse'},{'type':'Strip','content':' ','start':1,"
         "'stop':1}]}"),
        "{'type':'BPEDecoder','suffix':'</w>'}", "null",
    };
    static const char *const texts[] = { "ab a  b", " \303\211a<m> b.'s 11",
                                         "\xe4\xb8\xad\xff" };
    char file[FUZZ_INPUT_MOST - 64];
    const int bytes = snprintf(
        file, sizeof file, "{'added_tokens':[{'id':9,'content':'<m>','single_word':false,"
        "'lstrip':true,'rstrip':true,'normalized':%s,'special':true}],'model':{'type':%s},"
        "'normalizer':%s,'pre_tokenizer':%s,'post_processor':%s,'decoder':%s}",
        number % 2 ? "true" : "false", models[number % 3], normalizers[number % 5],
        splitters[number % 5], processors[number % 3], decoders[number % 6]);
    const char *const text = texts[number % 3];

    if (bytes < 0 || (size_t)bytes >= sizeof file)
        return 0;
    for (int i = 0; i < bytes; i++)
        data[i] = file[i] == '\'' ? '"' : (uint8_t)file[i];
    data[bytes] = 0;
    memcpy(data + bytes + 1, text, strlen(text));
    return (size_t)bytes + 1 + strlen(text);
}
