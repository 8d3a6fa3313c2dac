/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The languages, a row each, and which of them a text is in: the one whose stop words it has most
 * of, among those of its script.
 */
#include "language.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLE_WORDS = 20000, LEAST_HITS = 3 };

static const struct language languages[] = {
    { "en", "English",
      " al capt cf col dr e.g gen gov hon i.e lt messrs mr mrs ms mt mx prof rep rev sen sgt "
      "st viz vs ",
      " ave blvd bros co corp dept ed eds est et etc inc jr llc ltd ph.d plc rd sr ",
      " approx apr art aug ca ch dec eq feb fig figs jan jul jun mar no nos nov oct p pp sec "
      "sep sept "
      "vol ",
      " i ",
      { " i me mine my myself our ours ourselves us we you your yours yourself ",
        " a an the of in on at by for from with to into between about during through over "
        "under after before against among without within across toward towards upon ",
        " uh um uhm hm hmm mm mmm mhm huh er erm eh oh ah ha hey yeah yep yup yes okay ok kay "
        "well so like just right alright sure really actually basically anyway wow ",
        " decide decided decides decision decisions agree agreed agrees agreement conclude "
        "concluded concludes conclusion conclusions resolve resolved resolves resolution " },
      false },
    { "de", "German",
      " abs abb bspw bzw ca dipl dr ebd evtl fr geb gegr gem ggf hl hr hrsg inkl insb jr lat "
      "max mind "
      "min mrd mio nr prof rd sog st tel tsd urspr usf vgl zit zzgl z.b d.h u.a o.ä i.d.r ing "
      "phil med jur rer nat sen ",
      " chr etc str usw jh jhd co ",
      " -str abs anm apr art aug bd bl dez f feb ff h jan kap mai nov nr okt okt s sep sept "
      "tab vol "
      "ziff ",
      " ",
      { " ich mich mir mein meine meinen meiner wir uns unser unsere du dich dir dein deine euch "
        "euer eure ",
        " der die das den dem des ein eine einen einem einer eines in im ins an am ans auf aus "
        "bei beim mit nach von vom zu zum zur für durch über unter um gegen zwischen vor "
        "während ohne seit bis ",
        " äh ähm öh öhm hm hmm mhm ach ah oh naja na tja ja nee okay ok genau also halt eben "
        "eigentlich irgendwie sozusagen quasi gut klar ",
        " beschlossen beschließen beschließt beschloss beschluss entschieden entscheiden "
        "entscheidet entscheidung geeinigt einigten vereinbart vereinbarten fazit " },
      true },
    { "fr", "French",
      " av bd c.-à-d cf chap dr env ex fig m mgr mlle mm mme mmes mr p pr prof réf st ste "
      "s.-lt tel tél vol éd ",
      " etc j.-c suiv cie ",
      " art chap fig no n p pp vol ",
      " y à ",
      { " je j me m moi mon ma mes nous notre nos tu te t toi ton ta tes vous votre vos ",
        " le la les l un une des du de d au aux à en dans sur sous par pour avec sans entre "
        "vers chez contre depuis pendant après avant ",
        " euh heu ben bah hein hum ouais oui ah oh eh bon voilà quoi alors okay ok enfin donc "
        "bref ",
        " décidé décidons décide décident décision décisions convenu conclu conclusion "
        "conclusions " },
      false },
    { "es", "Spanish",
      " aprox arq art av avda c cap d dña dr dra ee ej excmo excma fig gral ing lic ldo ma núm "
      "p pág págs prof profa pza ref sr sra sras sres srta sto sta tel trad ud uds vd vds vol ",
      " etc uu ee.uu s.a s.l cia cía a.c d.c mín máx ",
      " art cap fig n núm p pág págs vol ",
      " y e o u a ",
      { " yo me mí mi mis nosotros nosotras nos nuestro nuestra tú te ti tu tus usted ustedes ",
        " el la los las un una unos unas de del a al en con por para sin sobre entre desde "
        "hasta hacia contra según ",
        " eh em mm ah oh ay pues bueno vale okay ok sí ya claro entonces ",
        " decidido decidimos decide deciden decidió decidieron decisión acordado acordamos "
        "acordó acordaron acuerdo conclusión " },
      false },
    { "it", "Italian",
      " arch art avv ca cap cfr col dott dr es fig gen geom ing n on p pag pagg prof proff rag "
      "rev s seg sig sigg sig.na sig.ra dott.ssa tel vol p.es d.ssa ",
      " ecc etc a.c d.c s.p.a s.r.l co ",
      " art cap fig n nr p pag pagg vol ",
      " è e o a ",
      { " io me mi mio mia miei noi ci nostro nostra tu ti te tuo tua voi vi vostro vostra ",
        " il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla "
        "ai agli alle da dal dallo dalla dai dagli dalle in nel nello nella nei negli nelle "
        "con su sul sullo sulla sui sugli sulle per tra fra ",
        " eh ehm mm ah oh mah beh boh sì okay ok allora insomma cioè ecco dunque ",
        " deciso decidiamo decide decidono decisione decisioni concordato stabilito "
        "conclusione conclusioni " },
      false },
    { "pt", "Portuguese",
      " aprox art av cap cf d dr dra drs ed eng ex exa exma exmo fig p pág págs prof profa r "
      "ref sr sra sras srs sta sto tel trav vol ",
      " etc lda ltda a.c d.c s.a cia ",
      " art cap fig n núm p pág págs vol ",
      " é e o a à ",
      { " eu me mim meu minha meus minhas nós nos nosso nossa tu te ti teu tua você vocês ",
        " o a os as um uma uns umas de do da dos das em no na nos nas num numa por pelo pela "
        "pelos pelas para com sem sobre entre até desde ao aos à às ",
        " eh é hã hum ah oh né tá pois bom então sim okay ok olha ",
        " decidido decidimos decide decidiu decidiram decisão decisões acordado acordamos "
        "acordo conclusão " },
      false },
    { "nl", "Dutch",
      " a.u.b bijv blz bv ca d.d d.w.z dhr dr drs e.d evt fam fig gebr i.p.v i.v.m ing ir "
      "m.a.w m.b.t m.i m.n m.u.v mej mevr mr mw nl nr nrs o.a o.l.v p.p pag prof red resp sr "
      "st t.a.v t.n.v t.o.v tel vgl z.o.z zgn ",
      " b.v enz etc n.v co jr v.chr n.chr chr ",
      " -str art blz fig hfdst nr nrs p pag vol ",
      " u ",
      { " ik mij me mijn wij we ons onze jij je jou jouw jullie u uw ",
        " de het een in op aan van voor met bij naar uit over door onder tussen tegen tot "
        "zonder te ten ter om ",
        " eh uh ehm uhm hm hmm ja nee nou oké ok okay ach ah oh hoor zeg dus eigenlijk gewoon ",
        " besloten besluiten besluit afgesproken afspraak overeengekomen conclusie " },
      false },
    { "ru", "Russian",
      " акад ген д доц им инж канд напр обл пер пл проф см ср тел ул ",
      " в вв г гг др коп млн млрд пр руб тыс э ",
      " гл кв п рис с ст стр т табл № ",
      " я ",
      { " я меня мне мы нас нам наш ты тебя тебе вы вас вам ваш ",
        " в во на с со к ко о об от до из за у по под над при про без для между через перед ",
        " э ээ эм мм хм ну вот да ага угу так ладно окей ок короче значит типа ",
        " решили решил решила решено решение договорились вывод " },
      false },
    { "zh", "Chinese", " ", " ", " ", " ",
      { " 我 你 您 咱 ", " 的 在 从 对 于 与 和 为 以 ", " 嗯 啊 呃 哦 哎 喔 吧 ", " 决 " }, false },
    { "ja", "Japanese", " ", " ", " ", " ",
      { " 私 僕 俺 ", " の を へ ", " ", " 決 " }, false },
};

enum { LANGUAGES = sizeof(languages) / sizeof(*languages) };

const struct language *language_named(const char *code)
{
    for (size_t i = 0; i < LANGUAGES; i++) {
        if (strcmp(languages[i].code, code) == 0)
            return &languages[i];
    }
    return NULL;
}

const char *language_code(const struct language *language, const char **name)
{
    if (name)
        *name = language->name;
    return language->code;
}

const struct language *language_at(size_t index)
{
    return index < LANGUAGES ? &languages[index] : NULL;
}

bool language_has(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *c = list; length > 0 && (c = strstr(c, word)) != NULL; c++) {
        if (c > list && c[-1] == ' ' && c[length] == ' ')
            return true;
    }
    return false;
}

static int compare_words(const void *word, const void *entry)
{
    return strcmp(word, *(const char *const *)entry);
}

const struct word_list *word_list_of(const struct word_list *lists, const char *code)
{
    while (lists->code && strcmp(lists->code, code) != 0)
        lists++;
    return lists->code ? lists : NULL;
}

static bool is_in(const struct word_list *list, const char *word)
{
    return list && bsearch(word, list->words, list->n, sizeof(*list->words), compare_words);
}

bool language_is_stop(const struct language *language, const char *word)
{
    return is_in(word_list_of(stop_words, language->code), word);
}

bool language_is_common(const struct language *language, const char *word)
{
    return is_in(word_list_of(common_words, language->code), word);
}

/* ---- which language --------------------------------------------------------- */

struct census {
    const struct word_list *lists[LANGUAGES];
    int64_t hits[LANGUAGES];
    int64_t words, kana, han, cyrillic;
};

static void count_code(struct census *c, uint32_t code)
{
    c->kana += code >= 0x3041 && code <= 0x30FF;
    c->han += code >= 0x4E00 && code <= 0x9FFF;
    c->cyrillic += code >= 0x400 && code <= 0x4FF;
}

static void count_range(struct census *c, const char *text, size_t at, size_t end)
{
    char word[WORD_BYTES];
    size_t taken;

    while (c->words < SAMPLE_WORDS && word_spell(text, &at, end, word)) {
        c->words++;
        count_code(c, utf8_next(word, word + strlen(word), &taken));
        for (size_t i = 0; i < LANGUAGES; i++)
            c->hits[i] += is_in(c->lists[i], word);
    }
}

const struct language *language_find(const char *text, const size_t (*ranges)[2], int64_t n)
{
    struct census c = { .words = 0 };
    size_t best = 0;

    for (size_t i = 0; i < LANGUAGES; i++)
        c.lists[i] = word_list_of(stop_words, languages[i].code);
    for (int64_t i = 0; i < n; i++)
        count_range(&c, text, ranges[i][0], ranges[i][1]);
    if ((c.han + c.kana) * 3 > c.words)
        return language_named(c.kana * 10 > c.han + c.kana ? "ja" : "zh");
    if (c.cyrillic * 3 > c.words)
        return language_named("ru");
    for (size_t i = 1; i < LANGUAGES; i++) {
        if (c.hits[i] > c.hits[best])
            best = i;
    }
    return &languages[c.hits[best] >= LEAST_HITS ? best : 0];
}
