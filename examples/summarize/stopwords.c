/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0 AND BSD-3-Clause AND MIT
 *
 * Words that say nothing of a text's subject, by language, sorted by their bytes.
 *
 * English is of heed's own making, with words of talk. German, French, Spanish, Italian,
 * Portuguese, Dutch and Russian are the lists of the Snowball project (https://snowballstem.org,
 * algorithms/LANGUAGE/stop.txt, commit a5c23fcf6cb8), in composed characters, without words that
 * have an apostrophe:
 *
 * Copyright (c) 2001, Dr Martin Porter,
 * Copyright (c) 2002, Richard Boulton.
 * All rights reserved.
 *
 * Redistribution and use in source and binary forms, with or without modification, are permitted
 * provided that the following conditions are met:
 *
 * 1. Redistributions of source code must retain the above copyright notice, this list of conditions
 *    and the following disclaimer.
 *
 * 2. Redistributions in binary form must reproduce the above copyright notice, this list of
 * conditions
 *    and the following disclaimer in the documentation and/or other materials provided with the
 *    distribution.
 *
 * 3. Neither the name of the copyright holder nor the names of its contributors may be used to
 * endorse
 *    or promote products derived from this software without specific prior written permission.
 *
 * THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR
 * IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND
 * FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
 * CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
 * DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE,
 * DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
 * WHETHER
 * IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY
 * OUT OF
 * THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
 *
 * Chinese and Japanese are the entries of one sign of stopwords-iso 0.7 (https://github.com/
 * stopwords-iso), since signs are what the vectors count, less numbers, times and places:
 *
 * Copyright (c) 2016 Gene Diaz
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions: The above copyright notice and this
 * permission notice shall be included in all copies or substantial portions of the Software. THE
 * SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
 * LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT.
 * IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
 * CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
#include "language.h"

static const char *const en_words[] = {
    "a", "about", "above", "after", "again", "ain", "all", "also", "am", "an", "and", "any", "are",
    "aren", "as", "at", "back", "be", "because", "been", "before", "being", "but", "by", "can",
    "cannot", "could", "couldn", "did", "didn", "do", "does", "doesn", "doing", "don", "done",
    "down", "each", "even", "few", "for", "from", "get", "go", "going", "got", "had", "hadn",
    "has", "hasn", "have", "haven", "having", "he", "her", "here", "hers", "him", "his", "how",
    "i", "if", "in", "into", "is", "isn", "it", "its", "just", "know", "like", "ll", "may", "me",
    "might", "mine", "more", "most", "much", "must", "my", "myself", "no", "nor", "not", "now",
    "of", "off", "oh", "ok", "okay", "on", "one", "only", "or", "other", "our", "ours",
    "ourselves", "out", "over", "own", "really", "right", "said", "same", "say", "see", "shall",
    "she", "should", "shouldn", "so", "some", "such", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "thing", "things", "think", "this", "those", "through",
    "to", "too", "uh", "um", "under", "until", "up", "upon", "us", "very", "was", "wasn", "way",
    "we", "well", "were", "weren", "what", "when", "where", "which", "while", "who", "whom",
    "why", "will", "with", "won", "would", "wouldn", "yeah", "yes", "yet", "you", "your",
    "yours", "yourself"
};

static const char *const de_words[] = {
    "aber", "alle", "allem", "allen", "aller", "alles", "als", "also", "am", "an", "ander",
    "andere", "anderem", "anderen", "anderer", "anderes", "anderm", "andern", "anderr", "anders",
    "auch", "auf", "aus", "bei", "bin", "bis", "bist", "da", "damit", "dann", "das", "dasselbe",
    "dazu", "daß", "dein", "deine", "deinem", "deinen", "deiner", "deines", "dem", "demselben",
    "den", "denn", "denselben", "der", "derer", "derselbe", "derselben", "des", "desselben",
    "dessen", "dich", "die", "dies", "diese", "dieselbe", "dieselben", "diesem", "diesen",
    "dieser", "dieses", "dir", "doch", "dort", "du", "durch", "ein", "eine", "einem", "einen",
    "einer", "eines", "einig", "einige", "einigem", "einigen", "einiger", "einiges", "einmal",
    "er", "es", "etwas", "euch", "euer", "eure", "eurem", "euren", "eurer", "eures", "für",
    "gegen", "gewesen", "hab", "habe", "haben", "hat", "hatte", "hatten", "hier", "hin", "hinter",
    "ich", "ihm", "ihn", "ihnen", "ihr", "ihre", "ihrem", "ihren", "ihrer", "ihres", "im", "in",
    "indem", "ins", "ist", "jede", "jedem", "jeden", "jeder", "jedes", "jene", "jenem", "jenen",
    "jener", "jenes", "jetzt", "kann", "kein", "keine", "keinem", "keinen", "keiner", "keines",
    "können", "könnte", "machen", "man", "manche", "manchem", "manchen", "mancher", "manches",
    "mein", "meine", "meinem", "meinen", "meiner", "meines", "mich", "mir", "mit", "muss",
    "musste", "nach", "nicht", "nichts", "noch", "nun", "nur", "ob", "oder", "ohne", "sehr",
    "sein", "seine", "seinem", "seinen", "seiner", "seines", "selbst", "sich", "sie", "sind", "so",
    "solche", "solchem", "solchen", "solcher", "solches", "soll", "sollte", "sondern", "sonst",
    "um", "und", "uns", "unse", "unsem", "unsen", "unser", "unses", "unter", "viel", "vom", "von",
    "vor", "war", "waren", "warst", "was", "weg", "weil", "weiter", "welche", "welchem", "welchen",
    "welcher", "welches", "wenn", "werde", "werden", "wie", "wieder", "will", "wir", "wird",
    "wirst", "wo", "wollen", "wollte", "während", "würde", "würden", "zu", "zum", "zur", "zwar",
    "zwischen", "über",
};

static const char *const fr_words[] = {
    "ai", "aie", "aient", "aies", "ait", "au", "aurai", "auraient", "aurais", "aurait", "aurez",
    "auriez", "aurions", "aurons", "auront", "aux", "avaient", "avais", "avait", "avec", "avez",
    "aviez", "avons", "ayant", "ayez", "ayons", "c", "ce", "ceci", "cela", "celà", "ces", "cet",
    "cette", "d", "dans", "de", "des", "du", "elle", "en", "es", "et", "eu", "eue", "eues",
    "eurent", "eus", "eusse", "eussent", "eusses", "eussiez", "eussions", "eut", "eux", "eûmes",
    "eût", "eûtes", "furent", "fus", "fusse", "fussent", "fusses", "fussiez", "fussions", "fut",
    "fûmes", "fûtes", "ici", "il", "ils", "j", "je", "l", "la", "le", "les", "leur", "leurs",
    "lui", "m", "ma", "mais", "me", "mes", "moi", "mon", "même", "n", "ne", "nos", "notre", "nous",
    "on", "ont", "ou", "par", "pas", "pour", "qu", "que", "quel", "quelle", "quelles", "quels",
    "qui", "s", "sa", "sans", "se", "sera", "serai", "seraient", "serais", "serait", "seras",
    "serez", "seriez", "serions", "serons", "seront", "ses", "soi", "soient", "sois", "soit",
    "sont", "soyez", "soyons", "suis", "sur", "t", "ta", "te", "tes", "toi", "ton", "tu", "un",
    "une", "vos", "votre", "vous", "y", "à", "étaient", "étais", "était", "étant", "étiez",
    "étions", "étée", "étées", "êtes",
};

static const char *const es_words[] = {
    "a", "al", "algo", "algunas", "algunos", "ante", "antes", "como", "con", "contra", "cual",
    "cuando", "de", "del", "desde", "donde", "durante", "e", "el", "ella", "ellas", "ellos", "en",
    "entre", "era", "erais", "eran", "eras", "eres", "es", "esa", "esas", "ese", "eso", "esos",
    "esta", "estaba", "estabais", "estaban", "estabas", "estad", "estada", "estadas", "estado",
    "estados", "estamos", "estando", "estar", "estaremos", "estará", "estarán", "estarás",
    "estaré", "estaréis", "estaría", "estaríais", "estaríamos", "estarían", "estarías", "estas",
    "este", "estemos", "esto", "estos", "estoy", "estuve", "estuviera", "estuvierais",
    "estuvieran", "estuvieras", "estuvieron", "estuviese", "estuvieseis", "estuviesen",
    "estuvieses", "estuvimos", "estuviste", "estuvisteis", "estuviéramos", "estuviésemos",
    "estuvo", "está", "estábamos", "estáis", "están", "estás", "esté", "estéis", "estén", "estés",
    "fue", "fuera", "fuerais", "fueran", "fueras", "fueron", "fuese", "fueseis", "fuesen",
    "fueses", "fui", "fuimos", "fuiste", "fuisteis", "fuéramos", "fuésemos", "ha", "habida",
    "habidas", "habido", "habidos", "habiendo", "habremos", "habrá", "habrán", "habrás", "habré",
    "habréis", "habría", "habríais", "habríamos", "habrían", "habrías", "habéis", "había",
    "habíais", "habíamos", "habían", "habías", "han", "has", "hasta", "hay", "haya", "hayamos",
    "hayan", "hayas", "hayáis", "he", "hemos", "hube", "hubiera", "hubierais", "hubieran",
    "hubieras", "hubieron", "hubiese", "hubieseis", "hubiesen", "hubieses", "hubimos", "hubiste",
    "hubisteis", "hubiéramos", "hubiésemos", "hubo", "la", "las", "le", "les", "lo", "los", "me",
    "mi", "mis", "mucho", "muchos", "muy", "más", "mí", "mía", "mías", "mío", "míos", "nada", "ni",
    "no", "nos", "nosotras", "nosotros", "nuestra", "nuestras", "nuestro", "nuestros", "o", "os",
    "otra", "otras", "otro", "otros", "para", "pero", "poco", "por", "porque", "que", "quien",
    "quienes", "qué", "se", "sea", "seamos", "sean", "seas", "seremos", "será", "serán", "serás",
    "seré", "seréis", "sería", "seríais", "seríamos", "serían", "serías", "seáis", "sido",
    "siendo", "sin", "sobre", "sois", "somos", "son", "soy", "su", "sus", "suya", "suyas", "suyo",
    "suyos", "sí", "también", "tanto", "te", "tendremos", "tendrá", "tendrán", "tendrás", "tendré",
    "tendréis", "tendría", "tendríais", "tendríamos", "tendrían", "tendrías", "tened", "tenemos",
    "tenga", "tengamos", "tengan", "tengas", "tengo", "tengáis", "tenida", "tenidas", "tenido",
    "tenidos", "teniendo", "tenéis", "tenía", "teníais", "teníamos", "tenían", "tenías", "ti",
    "tiene", "tienen", "tienes", "todo", "todos", "tu", "tus", "tuve", "tuviera", "tuvierais",
    "tuvieran", "tuvieras", "tuvieron", "tuviese", "tuvieseis", "tuviesen", "tuvieses", "tuvimos",
    "tuviste", "tuvisteis", "tuviéramos", "tuviésemos", "tuvo", "tuya", "tuyas", "tuyo", "tuyos",
    "tú", "un", "una", "uno", "unos", "vosotras", "vosotros", "vuestra", "vuestras", "vuestro",
    "vuestros", "y", "ya", "yo", "él", "éramos",
};

static const char *const it_words[] = {
    "a", "abbia", "abbiamo", "abbiano", "abbiate", "ad", "agl", "agli", "ai", "al", "all", "alla",
    "alle", "allo", "anche", "avemmo", "avendo", "avesse", "avessero", "avessi", "avessimo",
    "aveste", "avesti", "avete", "aveva", "avevamo", "avevano", "avevate", "avevi", "avevo",
    "avrai", "avranno", "avrebbe", "avrebbero", "avrei", "avremmo", "avremo", "avreste", "avresti",
    "avrete", "avrà", "avrò", "avuta", "avute", "avuti", "avuto", "c", "che", "chi", "ci", "coi",
    "col", "come", "con", "contro", "cui", "da", "dagl", "dagli", "dai", "dal", "dall", "dalla",
    "dalle", "dallo", "degl", "degli", "dei", "del", "dell", "della", "delle", "dello", "di",
    "dov", "dove", "e", "ebbe", "ebbero", "ebbi", "ed", "era", "erano", "eravamo", "eravate",
    "eri", "ero", "essendo", "faccia", "facciamo", "facciano", "facciate", "faccio", "facemmo",
    "facendo", "facesse", "facessero", "facessi", "facessimo", "faceste", "facesti", "faceva",
    "facevamo", "facevano", "facevate", "facevi", "facevo", "fai", "fanno", "farai", "faranno",
    "farebbe", "farebbero", "farei", "faremmo", "faremo", "fareste", "faresti", "farete", "farà",
    "farò", "fece", "fecero", "feci", "fosse", "fossero", "fossi", "fossimo", "foste", "fosti",
    "fu", "fui", "fummo", "furono", "gli", "ha", "hai", "hanno", "ho", "i", "il", "in", "io", "l",
    "la", "le", "lei", "li", "lo", "loro", "lui", "ma", "mi", "mia", "mie", "miei", "mio", "ne",
    "negl", "negli", "nei", "nel", "nell", "nella", "nelle", "nello", "noi", "non", "nostra",
    "nostre", "nostri", "nostro", "o", "per", "perché", "più", "quale", "quanta", "quante",
    "quanti", "quanto", "quella", "quelle", "quelli", "quello", "questa", "queste", "questi",
    "questo", "sarai", "saranno", "sarebbe", "sarebbero", "sarei", "saremmo", "saremo", "sareste",
    "saresti", "sarete", "sarà", "sarò", "se", "sei", "si", "sia", "siamo", "siano", "siate",
    "siete", "sono", "sta", "stai", "stando", "stanno", "starai", "staranno", "starebbe",
    "starebbero", "starei", "staremmo", "staremo", "stareste", "staresti", "starete", "starà",
    "starò", "stava", "stavamo", "stavano", "stavate", "stavi", "stavo", "stemmo", "stesse",
    "stessero", "stessi", "stessimo", "steste", "stesti", "stette", "stettero", "stetti", "stia",
    "stiamo", "stiano", "stiate", "sto", "su", "sua", "sue", "sugl", "sugli", "sui", "sul", "sull",
    "sulla", "sulle", "sullo", "suo", "suoi", "ti", "tra", "tu", "tua", "tue", "tuo", "tuoi",
    "tutti", "tutto", "un", "una", "uno", "vi", "voi", "vostra", "vostre", "vostri", "vostro", "è",
};

static const char *const pt_words[] = {
    "a", "ao", "aos", "aquela", "aquelas", "aquele", "aqueles", "aquilo", "as", "até", "com",
    "como", "da", "das", "de", "dela", "delas", "dele", "deles", "depois", "do", "dos", "e", "ela",
    "elas", "ele", "eles", "em", "entre", "era", "eram", "essa", "essas", "esse", "esses", "esta",
    "estamos", "estas", "estava", "estavam", "este", "esteja", "estejam", "estejamos", "estes",
    "esteve", "estive", "estivemos", "estiver", "estivera", "estiveram", "estiverem", "estivermos",
    "estivesse", "estivessem", "estivéramos", "estivéssemos", "estou", "está", "estávamos",
    "estão", "eu", "foi", "fomos", "for", "fora", "foram", "forem", "formos", "fosse", "fossem",
    "fui", "fôramos", "fôssemos", "haja", "hajam", "hajamos", "havemos", "hei", "houve",
    "houvemos", "houver", "houvera", "houveram", "houverei", "houverem", "houveremos", "houveria",
    "houveriam", "houvermos", "houverá", "houverão", "houveríamos", "houvesse", "houvessem",
    "houvéramos", "houvéssemos", "há", "hão", "isso", "isto", "já", "lhe", "lhes", "mais", "mas",
    "me", "mesmo", "meu", "meus", "minha", "minhas", "muito", "na", "nas", "nem", "no", "nos",
    "nossa", "nossas", "nosso", "nossos", "num", "numa", "não", "nós", "o", "os", "ou", "para",
    "pela", "pelas", "pelo", "pelos", "por", "qual", "quando", "que", "quem", "se", "seja",
    "sejam", "sejamos", "sem", "serei", "seremos", "seria", "seriam", "será", "serão", "seríamos",
    "seu", "seus", "somos", "sou", "sua", "suas", "são", "só", "também", "te", "tem", "temos",
    "tenha", "tenham", "tenhamos", "tenho", "terei", "teremos", "teria", "teriam", "terá", "terão",
    "teríamos", "teu", "teus", "teve", "tinha", "tinham", "tive", "tivemos", "tiver", "tivera",
    "tiveram", "tiverem", "tivermos", "tivesse", "tivessem", "tivéramos", "tivéssemos", "tu",
    "tua", "tuas", "tém", "tínhamos", "um", "uma", "você", "vocês", "vos", "à", "às", "éramos",
};

static const char *const nl_words[] = {
    "aan", "al", "alles", "als", "altijd", "andere", "ben", "bij", "daar", "dan", "dat", "de",
    "der", "deze", "die", "dit", "doch", "doen", "door", "dus", "een", "eens", "en", "er", "ge",
    "geen", "geweest", "haar", "had", "heb", "hebben", "heeft", "hem", "het", "hier", "hij", "hoe",
    "hun", "iemand", "iets", "ik", "in", "is", "ja", "je", "kan", "kon", "kunnen", "maar", "me",
    "meer", "men", "met", "mij", "mijn", "moet", "na", "naar", "niet", "niets", "nog", "nu", "of",
    "om", "omdat", "onder", "ons", "ook", "op", "over", "reeds", "te", "tegen", "toch", "toen",
    "tot", "u", "uit", "uw", "van", "veel", "voor", "want", "waren", "was", "wat", "werd", "wezen",
    "wie", "wil", "worden", "wordt", "zal", "ze", "zelf", "zich", "zij", "zijn", "zo", "zonder",
    "zou",
};

static const char *const ru_words[] = {
    "а", "без", "более", "больше", "будет", "будто", "бы", "был", "была", "были", "было", "быть",
    "в", "вам", "вас", "вдруг", "ведь", "во", "вот", "впрочем", "все", "всегда", "всего", "всех",
    "всю", "вы", "где", "говорил", "да", "даже", "два", "для", "до", "другой", "его", "ее", "ей",
    "ему", "если", "есть", "еще", "ж", "же", "жизнь", "за", "зачем", "здесь", "и", "из", "или",
    "им", "иногда", "их", "к", "кажется", "как", "какая", "какой", "когда", "конечно", "кто",
    "куда", "ли", "лучше", "между", "меня", "мне", "много", "может", "можно", "мой", "моя", "мы",
    "на", "над", "надо", "наконец", "нас", "не", "него", "нее", "ней", "нельзя", "нет", "ни",
    "нибудь", "никогда", "ним", "них", "ничего", "но", "ну", "о", "об", "один", "он", "она", "они",
    "опять", "от", "перед", "по", "под", "после", "потом", "потому", "почти", "при", "про", "раз",
    "разве", "с", "сам", "свою", "себе", "себя", "сегодня", "сейчас", "сказал", "сказала",
    "сказать", "со", "совсем", "так", "такой", "там", "тебя", "тем", "теперь", "то", "тогда",
    "того", "тоже", "только", "том", "тот", "три", "тут", "ты", "у", "уж", "уже", "хорошо", "хоть",
    "чего", "человек", "чем", "через", "что", "чтоб", "чтобы", "чуть", "эти", "этого", "этой",
    "этом", "этот", "эту", "я",
};

static const char *const zh_words[] = {
    "上", "下", "不", "与", "且", "个", "中", "为", "乃", "么", "之", "乎", "乘", "也", "了",
    "于", "些", "亦", "人", "什", "今", "仍", "从", "他", "以", "们", "任", "会", "但", "何",
    "你", "使", "依", "俺", "倘", "借", "做", "像", "儿", "兮", "共", "其", "内", "再", "几",
    "凡", "凭", "分", "则", "别", "到", "即", "却", "去", "又", "及", "另", "只", "叫", "可",
    "各", "同", "后", "向", "吗", "吧", "含", "吱", "呀", "呃", "呕", "呗", "呜", "呢", "呵",
    "呸", "咋", "和", "咚", "咦", "咧", "咱", "咳", "哇", "哈", "哉", "哎", "哗", "哟", "哦",
    "哩", "哪", "哼", "唉", "啊", "啐", "啥", "啦", "喂", "喏", "喽", "嗡", "嗬", "嗯", "嗳",
    "嘎", "嘘", "嘛", "嘻", "嘿", "因", "在", "地", "多", "大", "她", "好", "如", "宁", "它",
    "对", "将", "小", "尔", "就", "尽", "己", "已", "并", "归", "当", "彼", "往", "待", "很",
    "得", "怎", "您", "我", "或", "所", "才", "把", "拿", "按", "据", "故", "无", "既", "是",
    "更", "曾", "替", "最", "有", "望", "本", "来", "某", "欤", "此", "每", "比", "焉", "照",
    "用", "由", "的", "看", "着", "矣", "第", "等", "纵", "经", "给", "者", "而", "能", "腾",
    "自", "至", "致", "若", "虽", "被", "要", "让", "该", "请", "诸", "谁", "赶", "起", "趁",
    "跟", "较", "过", "还", "这", "连", "那", "都", "阿", "除", "随", "非", "靠", "顺",
};

static const char *const ja_words[] = {
    "い", "う", "え", "お", "か", "が", "き", "さ", "し", "ず", "せ", "た", "だ", "つ", "て", "で", "と", "な", "に",
    "の", "は", "ば", "へ", "も", "や", "ら", "れ", "を", "ん", "何", "彼", "私",
};

const struct word_list stop_words[] = {
    WORD_LIST(en), WORD_LIST(de), WORD_LIST(fr), WORD_LIST(es), WORD_LIST(it), WORD_LIST(pt),
    WORD_LIST(nl), WORD_LIST(ru), WORD_LIST(zh), WORD_LIST(ja), { NULL, NULL, 0 }
};
