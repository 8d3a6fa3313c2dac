/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Small tokenizers of every kind, and texts with the ids, special ones too, and the text without
 * special tokens that the public library `tokenizers` 0.23.3 gives. In the files "'" stands for
 * '"', which C would have to escape.
 */
#ifndef TESTS_MODEL_TOKENIZER_CASES_H
#define TESTS_MODEL_TOKENIZER_CASES_H

static const struct tokenizer_case {
    const char *name, *file;
    struct {
        const char *text, *ids, *decoded;
    } texts[8];
} tokenizer_cases[] = {
    { "byte-level",
      "{'added_tokens':[{'id':0,'content':'<s>','single_word':false,'lstrip':false,"
      "'rstrip':false,'normalized':false,'special':true},{'id':1,'content':'</s>',"
      "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':true},"
      "{'id':19,'content':'<mask>','single_word':false,'lstrip':true,'rstrip':false,"
      "'normalized':false,'special':true}],"
      "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'trim_offsets':true,"
      "'use_regex':true},"
      "'post_processor':{'type':'RobertaProcessing','sep':['</s>',1],'cls':['<s>',0],"
      "'trim_offsets':true,'add_prefix_space':false},"
      "'decoder':{'type':'ByteLevel','add_prefix_space':false,'trim_offsets':true,"
      "'use_regex':true},"
      "'model':{'type':'BPE','vocab':{'<s>':0,'</s>':1,'a':2,'b':3,'c':4,'l':5,'\\u0027':6,"
      "'\304\240':7,'s':8,'t':9,'1':10,'\303\203':11,'\302\251':12,'\304\212':13,'ab':14,"
      "'\304\240ab':15,'\304\240abc':16,'\\u0027s':17,'11':18,'<mask>':19},'merges':['a b',"
      "'\304\240 ab','\304\240ab c','\\u0027 s','1 1']}}",
      {
          { "abc ab  abc", "0 14 4 15 7 16 1",
            "abc ab  abc" },
          { " ab's 11 1\nab", "0 15 17 7 18 7 10 13 14 1",
            " ab's 11 1\nab" },
          { " a  <mask> b", "0 7 2 19 7 3 1",
            " a b" },
          { "\303\251", "0 11 12 1",
            "\303\251" },
          { "ab<s>ab", "0 14 0 14 1",
            "abab" },
          { "", "0 1",
            "" },
      } },
    { "prefix space",
      "{'added_tokens':[{'id':0,'content':'<s>','single_word':false,'lstrip':false,"
      "'rstrip':false,'normalized':false,'special':true},{'id':1,'content':'</s>',"
      "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':true},"
      "{'id':19,'content':'<mask>','single_word':false,'lstrip':true,'rstrip':false,"
      "'normalized':false,'special':true}],"
      "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
      "'use_regex':true},"
      "'post_processor':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
      "'use_regex':true},"
      "'decoder':{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,"
      "'use_regex':true},"
      "'model':{'type':'BPE','vocab':{'<s>':0,'</s>':1,'a':2,'b':3,'c':4,'l':5,'\\u0027':6,"
      "'\304\240':7,'s':8,'t':9,'1':10,'\303\203':11,'\302\251':12,'\304\212':13,'ab':14,"
      "'\304\240ab':15,'\304\240abc':16,'\\u0027s':17,'11':18,'<mask>':19},'merges':[['a','b'],"
      "['\304\240','ab'],['\304\240ab','c'],['\\u0027','s'],['1','1']]}}",
      {
          { "ab<s>abc", "15 0 16",
            " ab abc" },
          { " ab", "15",
            " ab" },
      } },
    { "one word",
      "{'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Split',"
      "'pattern':{'Regex':'\\u0027s|\\u0027t|\\u0027re|\\u0027ve|\\u0027m|\\u0027ll|\\u0027d| ?\\"
      "\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+'},"
      "'behavior':'Isolated','invert':false},{'type':'ByteLevel','add_prefix_space':false,"
      "'trim_offsets':true,'use_regex':false}]},"
      "'model':{'type':'BPE','ignore_merges':true,'vocab':{'<s>':0,'</s>':1,'a':2,'b':3,'c':4,"
      "'l':5,'\\u0027':6,'\304\240':7,'s':8,'t':9,'1':10,'\303\203':11,'\302\251':12,"
      "'\304\212':13,'ab':14,'\304\240ab':15,'\304\240abc':16,'\\u0027s':17,'11':18,'<mask>':19},"
      "'merges':['a b','\304\240 ab','\304\240ab c','\\u0027 s','1 1']}}",
      {
          { "abc \304\240ab ab's'", "14 4 15 15 17 6",
            "ab c \304\240ab \304\240ab 's '" },
          { " abc\011 ab", "16 15",
            "\304\240abc \304\240ab" },
      } },
    { "ranks",
      "{'model':{'type':'BPE','vocab':{'a':0,'b':1,'c':2,'d':3,'bc':4,'ab':5,'cd':6,'abc':7,"
      "'bcd':8,'abcd':9},'merges':['b c','a b','c d','a bc','b cd','ab cd']}}",
      {
          { "abcd", "7 3",
            "abc d" },
          { "aabcbcd", "0 7 4 3",
            "a abc bc d" },
          { "ababcdd", "5 7 3 3",
            "ab abc d d" },
          { "bbccdd", "1 4 6 3",
            "b bc cd d" },
      } },
    { "composed",
      "{'normalizer':{'type':'NFC'},"
      "'model':{'type':'BPE','unk_token':'?','vocab':{'?':0,'a':1,'e':2,'\303\251':3,"
      "'\314\201':4,'\314\243':5,'\341\272\241':6,'\314\210':7,'i':8,'\352\260\200':9,'x':10},"
      "'merges':[]}}",
      {
          { "e\314\201x", "3 10",
            "\303\251 x" },
          { "xa\314\201\314\243", "10 6 4",
            "x \341\272\241 \314\201" },
          { "a\314\243\314\201e", "6 4 2",
            "\341\272\241 \314\201 e" },
          { "\341\204\200\341\205\241", "9",
            "\352\260\200" },
      } },
    { "decomposed",
      "{'normalizer':{'type':'NFKD'},"
      "'model':{'type':'BPE','unk_token':'?','vocab':{'?':0,'a':1,'e':2,'\303\251':3,"
      "'\314\201':4,'\314\243':5,'\341\272\241':6,'\314\210':7,'i':8,'\352\260\200':9,'x':10},"
      "'merges':[]}}",
      {
          { "\303\251e\314\210\314\243\314\201", "2 4 2 5 7 4",
            "e \314\201 e \314\243 \314\210 \314\201" },
          { "\341\272\241\314\201x\314\201\314\243", "1 5 4 10 5 4",
            "a \314\243 \314\201 x \314\243 \314\201" },
          { "\342\205\260a\314\210\314\243\314\210\314\243\314\210\314\243\314\210\314\243"
            "\314\210\314\243\314\210\314\243\314\210\314\243\314\210\314\243\314\210\314\243"
            "\314\210\314\243\314\210\314\243\314\210\314\243\314\210\314\243",
            "8 1 5 5 5 5 5 5 5 5 5 5 5 5 5 7 7 7 7 7 7 7 7 7 7 7 7 7",
            "i a \314\243 \314\243 \314\243 \314\243 \314\243 \314\243 \314\243 \314\243 \314\243"
            " \314\243 \314\243 \314\243 \314\243 \314\210 \314\210 \314\210 \314\210 \314\210 "
            "\314\210 \314\210 \314\210 \314\210 \314\210 \314\210 \314\210 \314\210" },
      } },
    { "bytes instead",
      "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Prepend',"
      "'prepend':'\342\226\201'},{'type':'Replace','pattern':{'String':' '},"
      "'content':'\342\226\201'}]},"
      "'decoder':{'type':'Sequence','decoders':[{'type':'Replace',"
      "'pattern':{'String':'\342\226\201'},'content':' '},{'type':'ByteFallback'},"
      "{'type':'Fuse'},{'type':'Strip','content':' ','start':1,'stop':0}]},"
      "'model':{'type':'BPE','unk_token':'<unk>','fuse_unk':true,'byte_fallback':true,"
      "'vocab':{'<unk>':0,'\342\226\201':1,'a':2,'b':3,'\342\226\201a':4,'<0xC3>':5,'<0xA9>':6,"
      "'<0x0A>':7},'merges':['\342\226\201 a']}}",
      {
          { "a b", "4 1 3",
            "a b" },
          { "\303\251 a", "1 5 6 4",
            "\303\251 a" },
          { "xyz a", "1 0 4",
            "<unk> a" },
          { "x\303\251\nx", "1 5 6 7 0",
            "\303\251\n<unk>" },
      } },
    { "suffix",
      "{'normalizer':{'type':'Lowercase'},"
      "'pre_tokenizer':{'type':'WhitespaceSplit'},"
      "'decoder':{'type':'BPEDecoder','suffix':'</w>'},"
      "'model':{'type':'BPE','unk_token':'?','continuing_subword_prefix':'##',"
      "'end_of_word_suffix':'</w>','vocab':{'?':0,'a':1,'b':2,'a</w>':3,'b</w>':4,'##b</w>':5,"
      "'ab</w>':6,'##a':7,'c':8,'##c':9},'merges':['a ##b</w>']}}",
      {
          { "AB a x", "6 3 0",
            "ab a ?" },
          { "zz ab", "0 0 6",
            "??ab" },
      } },
    { "wordpiece",
      "{'added_tokens':[{'id':22,'content':'do not','single_word':false,'lstrip':false,"
      "'rstrip':false,'normalized':false,'special':false},{'id':0,'content':'[PAD]',"
      "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':true},"
      "{'id':1,'content':'[UNK]','single_word':false,'lstrip':false,'rstrip':false,"
      "'normalized':false,'special':true},{'id':2,'content':'[CLS]','single_word':false,"
      "'lstrip':false,'rstrip':false,'normalized':false,'special':true},{'id':3,"
      "'content':'[SEP]','single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
      "'special':true}],"
      "'normalizer':{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':true,"
      "'strip_accents':null,'lowercase':true},"
      "'pre_tokenizer':{'type':'BertPreTokenizer'},"
      "'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'[CLS]',"
      "'type_id':0}},{'Sequence':{'id':'A','type_id':0}},{'SpecialToken':{'id':'[SEP]',"
      "'type_id':0}}],'pair':[{'Sequence':{'id':'A','type_id':0}},{'Sequence':{'id':'B',"
      "'type_id':1}}],'special_tokens':{'[CLS]':{'id':'[CLS]','ids':[2],'tokens':['[CLS]']},"
      "'[SEP]':{'id':'[SEP]','ids':[3],'tokens':['[SEP]']}}},"
      "'decoder':{'type':'WordPiece','prefix':'##','cleanup':true},"
      "'model':{'type':'WordPiece','unk_token':'[UNK]','continuing_subword_prefix':'##',"
      "'max_input_chars_per_word':100,'vocab':{'[PAD]':0,'[UNK]':1,'[CLS]':2,'[SEP]':3,'un':4,"
      "'##aff':5,'##able':6,'a':7,'##b':8,'##bc':9,'\344\270\255':10,'!':11,'.':12,'\303\251':13,"
      "'e':14,'##e':15,'x':16,'naive':17,'\\u0027':18,'##s':19,'it':20,'##\303\251':21}}}",
      {
          { "Unaffable abc!", "2 4 5 6 7 9 11 3",
            "unaffable abc!" },
          { "a\344\270\255a na\303\257ve \303\211", "2 7 10 7 17 14 3",
            "a \344\270\255 a naive e" },
          { "it's\001 zz [SEP] x.", "2 20 18 1 1 3 16 12 3",
            "it ' x." },
          { "a do not\357\277\275 a", "2 7 22 7 3",
            "a don't a" },
      } },
    { "wordpiece with case",
      "{'added_tokens':[{'id':22,'content':'do not','single_word':false,'lstrip':false,"
      "'rstrip':false,'normalized':false,'special':false},{'id':0,'content':'[PAD]',"
      "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':true},"
      "{'id':1,'content':'[UNK]','single_word':false,'lstrip':false,'rstrip':false,"
      "'normalized':false,'special':true},{'id':2,'content':'[CLS]','single_word':false,"
      "'lstrip':false,'rstrip':false,'normalized':false,'special':true},{'id':3,"
      "'content':'[SEP]','single_word':false,'lstrip':false,'rstrip':false,'normalized':false,"
      "'special':true}],"
      "'normalizer':{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':true,"
      "'strip_accents':false,'lowercase':false},"
      "'pre_tokenizer':{'type':'BertPreTokenizer'},"
      "'post_processor':{'type':'BertProcessing','sep':['[SEP]',3],'cls':['[CLS]',2]},"
      "'decoder':{'type':'WordPiece','prefix':'##','cleanup':false},"
      "'model':{'type':'WordPiece','unk_token':'[UNK]','continuing_subword_prefix':'##',"
      "'max_input_chars_per_word':4,'vocab':{'[PAD]':0,'[UNK]':1,'[CLS]':2,'[SEP]':3,'un':4,"
      "'##aff':5,'##able':6,'a':7,'##b':8,'##bc':9,'\344\270\255':10,'!':11,'.':12,'\303\251':13,"
      "'e':14,'##e':15,'x':16,'naive':17,'\\u0027':18,'##s':19,'it':20,'##\303\251':21}}}",
      {
          { "Unaff abbc x.", "2 1 7 8 9 16 12 3",
            "abbc x ." },
          { "\303\251\303\251\303\251", "2 13 21 21 3",
            "\303\251\303\251\303\251" },
          { "\303\251 e\314\201 abbbb", "2 13 1 1 3",
            "\303\251" },
      } },
    { "unigram",
      "{'added_tokens':[{'id':0,'content':'<unk>','single_word':false,'lstrip':false,"
      "'rstrip':false,'normalized':false,'special':true},{'id':8,'content':'</s>',"
      "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':true},"
      "{'id':9,'content':'<extra_id_0>','single_word':false,'lstrip':false,'rstrip':false,"
      "'normalized':false,'special':true}],"
      "'pre_tokenizer':{'type':'Metaspace','replacement':'\342\226\201',"
      "'prepend_scheme':'always','split':true},"
      "'post_processor':{'type':'TemplateProcessing','single':[{'Sequence':{'id':'A',"
      "'type_id':0}},{'SpecialToken':{'id':'</s>','type_id':0}}],'pair':[{'Sequence':{'id':'A',"
      "'type_id':0}},{'Sequence':{'id':'B','type_id':1}}],'special_tokens':{'</s>':{'id':'</s>',"
      "'ids':[8],'tokens':['</s>']}}},"
      "'decoder':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'always',"
      "'split':true},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0]],"
      "'byte_fallback':false}}",
      {
          { "ab aab", "5 6 4 8",
            "ab aab" },
          { "xy a z", "1 0 6 1 0 8",
            " a " },
          { "a<extra_id_0> b", "6 9 1 3 8",
            "a b" },
          { "aaaaa", "6 7 7 8",
            "aaaaa" },
      } },
    { "ties",
      "{'pre_tokenizer':{'type':'Metaspace','replacement':'\342\226\201',"
      "'prepend_scheme':'never','split':true},"
      "'decoder':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'never',"
      "'split':true},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0],['bb',-5.0],['zy',"
      "-14.0],['yq',-1.0],['q',-6.0],['y',-3.0],['1a',-1.0],['a1',-1.0],['11',-1.0],['$$',-1.0],"
      "['$a',-1.0],['a$',-1.0],[',a',-1.0],['a,',-1.0],[',,',-1.0]],'byte_fallback':false}}",
      {
          { "abb bb", "4 3 1 13",
            "abb bb" },
          { "zyq", "14 16",
            "zyq" },
          { " bb ab", "1 13 5",
            " bb ab" },
      } },
    { "unigram, first",
      "{'added_tokens':[{'id':9,'content':'<extra_id_0>','single_word':false,'lstrip':false,"
      "'rstrip':false,'normalized':false,'special':true}],"
      "'normalizer':{'type':'Sequence','normalizers':[{'type':'Strip','strip_left':false,"
      "'strip_right':true},{'type':'Replace','pattern':{'Regex':' {2,}'},"
      "'content':'\342\226\201'}]},"
      "'pre_tokenizer':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'first',"
      "'split':false},"
      "'decoder':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'first',"
      "'split':false},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0]],"
      "'byte_fallback':false}}",
      {
          { "ab  ab ", "5 5",
            "ab ab" },
          { "a<extra_id_0>ab", "6 9 4",
            "aab" },
          { "  ab", "5",
            "ab" },
      } },
    { "unigram, pieces",
      "{'normalizer':{'type':'Sequence','normalizers':[{'type':'NFKC'},{'type':'Nmt'}]},"
      "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'WhitespaceSplit'},"
      "{'type':'Digits','individual_digits':true},{'type':'Punctuation','behavior':'Isolated'},"
      "{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'never','split':true}]},"
      "'decoder':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'never',"
      "'split':true},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0]],"
      "'byte_fallback':false}}",
      {
          { "ab,a\302\240a b11", "4 10 2 2 3 11 11",
            "ab,aab11" },
          { "\357\275\201 ab,\342\226\201", "2 4 10",
            "aab," },
      } },
    { "charsmap",
      "{'normalizer':{'type':'Precompiled',"
      "'precompiled_charsmap':'AAQAAAAAAwAAAACAwgwAAMMIAAACAACAAwAAgAUAAIAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAR"
      "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAIYFAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAoIECAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACtoQIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAABhAGFiAA=='},"
      "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'WhitespaceSplit'},"
      "{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'first','split':true}]},"
      "'decoder':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'always',"
      "'split':true},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0]],"
      "'byte_fallback':false}}",
      {
          { "\303\200b \303\206", "5 4",
            "abab" },
          { "a\302\240\314\201b", "6 3",
            "ab" },
          { "\302\255ab\302\255", "5",
            "ab" },
          { "\303\200\314\201\314\201 a", "6 0 2",
            "a<unk>a" },
      } },
    { "expressions",
      "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Replace',"
      "'pattern':{'Regex':'\\\\n'},'content':','},{'type':'Replace','pattern':{'Regex':'\\\\s{2,"
      "}|[\\\\n\\\\r\\\\t]'},'content':' '},{'type':'Replace','pattern':{'Regex':' +'},"
      "'content':'$'},{'type':'Replace','pattern':{'String':'aa'},'content':''}]},"
      "'decoder':{'type':'Sequence','decoders':[{'type':'Replace','pattern':{'String':'$'},"
      "'content':' '},{'type':'Strip','content':' ','start':1,'stop':0}]},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0]],"
      "'byte_fallback':false}}",
      {
          { "\na  b\011a b", "10 2 12 3 12 2 12 3",
            ",abab" },
          { "\011 \011 aaa", "12 2",
            "a" },
          { "ab b\011", "4 12 3 12",
            "abb" },
      } },
    { "added",
      "{'added_tokens':[{'id':13,'content':'word','single_word':true,'lstrip':false,"
      "'rstrip':false,'normalized':true,'special':false},{'id':14,'content':'<L>',"
      "'single_word':false,'lstrip':true,'rstrip':false,'normalized':false,'special':true},"
      "{'id':15,'content':'<R>','single_word':false,'lstrip':false,'rstrip':true,"
      "'normalized':false,'special':true},{'id':16,'content':'\303\204B','single_word':false,"
      "'lstrip':false,'rstrip':false,'normalized':true,'special':false},{'id':17,'content':'ab',"
      "'single_word':false,'lstrip':false,'rstrip':false,'normalized':false,'special':false},"
      "{'id':18,'content':'abab','single_word':false,'lstrip':false,'rstrip':false,"
      "'normalized':false,'special':false},{'id':19,'content':'\\t','single_word':false,"
      "'lstrip':false,'rstrip':true,'normalized':false,'special':false}],"
      "'normalizer':{'type':'Lowercase'},"
      "'pre_tokenizer':{'type':'Metaspace','replacement':'\342\226\201',"
      "'prepend_scheme':'always','split':true},"
      "'decoder':{'type':'Metaspace','replacement':'\342\226\201','prepend_scheme':'always',"
      "'split':true},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0]],"
      "'byte_fallback':false}}",
      {
          { "a word a words", "6 1 13 6 1 0",
            "a word a <unk>" },
          { " a <L> b<R>  a", "6 14 1 3 15 6",
            "a b a" },
          { "\303\244b \303\204B ab abab ababab", "16 1 16 1 4 1 17 1 17 4",
            "\303\244b \303\244b ab abab ababab" },
          { "<l> WORD", "1 0 1 13",
            "<unk> word" },
          { "a\011\011 b", "6 18 18 1 3",
            "a\011\011 b" },
      } },
    { "splits",
      "{'normalizer':{'type':'Sequence','normalizers':[{'type':'NFD'},{'type':'StripAccents'},"
      "{'type':'NFC'}]},"
      "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Split','pattern':{'String':',"
      "'},'behavior':'MergedWithPrevious','invert':false},{'type':'Split',"
      "'pattern':{'String':'1'},'behavior':'MergedWithNext','invert':false},{'type':'Split',"
      "'pattern':{'String':'$'},'behavior':'Contiguous','invert':false},"
      "{'type':'CharDelimiterSplit','delimiter':' '}]},"
      "'model':{'type':'Unigram','unk_id':0,'vocab':[['<unk>',0.0],['\342\226\201',-3.0],['a',"
      "-2.0],['b',-2.5],['ab',-3.0],['\342\226\201ab',-3.5],['\342\226\201a',-4.0],['aa',-3.5],"
      "['</s>',0.0],['<extra_id_0>',0.0],[',',-3.0],['1',-5.0],['$',-6.0],['bb',-5.0],['zy',"
      "-14.0],['yq',-1.0],['q',-6.0],['y',-3.0],['1a',-1.0],['a1',-1.0],['11',-1.0],['$$',-1.0],"
      "['$a',-1.0],['a$',-1.0],[',a',-1.0],['a,',-1.0],[',,',-1.0]],'byte_fallback':false}}",
      {
          { "aa,,aa1aa11aa", "2 25 10 7 18 2 11 18 2",
            "a a, , aa 1a a 1 1a a" },
          { "a$$a $ab", "2 21 2 12 4",
            "a $$ a $ ab" },
          { "a$a", "2 12 2",
            "a $ a" },
          { "\303\241,b", "25 3",
            "a, b" },
      } },
};

#endif
