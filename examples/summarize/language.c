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
      "vol v ver ",
      " i ",
      { " i me mine my myself our ours ourselves us we you your yours yourself ",
        " a an the of in on at by for from with to into between about during through over "
        "under after before against among without within across toward towards upon ",
        " uh um uhm hm hmm mm mmm mhm huh er erm eh oh ah ha hey yeah yep yup yes okay ok kay "
        "well so like just right alright sure really actually basically anyway wow ",
        " decide decided decides decision decisions agree agreed agrees agreement conclude "
        "concluded concludes conclusion conclusions resolve resolved resolves resolution " },
      { " this that these those such both however therefore thus then hence instead moreover "
        "furthermore consequently accordingly conversely alternatively similarly likewise "
        "nevertheless nonetheless meanwhile otherwise secondly thirdly afterwards ",
        " it its but and or nor so still again also there here yet too they them their he she his "
        "her ",
        " document manual manpage page file guide paper report article book chapter license "
        "licence package program library tool project readme section appendix release version "
        "software specification policy command utility script module daemon ",
        " example instance addition contrast ",
        " second third fourth fifth former latter other others same ",
        " see refer consult please ",
        " more further details information " },
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
      { " dies diese dieser dieses diesem diesen jene jener jenes beide solche solcher jedoch "
        "allerdings daher deshalb deswegen dadurch dabei dafür damit dann stattdessen außerdem "
        "zudem ferner andernfalls dagegen ebenso somit folglich trotzdem ",
        " es er sie ihr ihre sein seine aber und oder auch so noch da dort hier doch ",
        " dokument handbuch seite datei artikel buch kapitel lizenz paket programm bibliothek "
        "projekt abschnitt anhang bericht version ",
        " beispiel gegensatz ",
        " zweite dritte vierte erstere letztere andere anderen gleiche ",
        " siehe vgl bitte ",
        " weitere weiteren " },
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
      { " ce cet cette ces c cela ceci ça celui celle ceux celles cependant toutefois donc ainsi "
        "alors pourtant néanmoins ensuite enfin sinon inversement ",
        " il elle ils elles son sa ses leur leurs mais et ou aussi encore là ici ",
        " document manuel page fichier guide article livre chapitre licence paquet programme "
        "bibliothèque projet section annexe rapport version ",
        " exemple outre revanche effet ",
        " deuxième second seconde troisième autre autres dernier même ",
        " voir voyez consultez veuillez ",
        " plus " },
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
      { " este esta esto estos estas ese esa eso esos esas aquel aquella ambos ambas tal tales "
        "además así entonces luego después ",
        " él ella ello ellos ellas su sus pero y e o u también aún allí aquí ",
        " documento manual página archivo guía artículo libro capítulo licencia paquete programa "
        "biblioteca proyecto sección informe versión ",
        " ejemplo cambio contraste ",
        " segundo segunda tercero tercera otro otra otros otras mismo ",
        " véase ver consulte ",
        " más " },
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
      { " questo questa questi queste quello quella quelli quelle ciò tale tali entrambi tuttavia "
        "perciò quindi dunque inoltre così allora poi infine altrimenti invece ",
        " esso essa essi esse suo sua suoi sue loro ma e ed o anche ancora lì qui ",
        " documento manuale pagina file guida articolo libro capitolo licenza pacchetto programma "
        "libreria progetto sezione rapporto versione ",
        " esempio contrario ",
        " secondo seconda terzo terza altro altra altri altre stesso ",
        " vedi vedere consultare ",
        " maggiori ulteriori " },
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
      { " este esta isto estes estas esse essa isso esses essas aquele aquela aquilo ambos tal "
        "tais porém contudo portanto assim então depois além ",
        " ele ela eles elas seu sua seus suas mas e ou também ainda ali aqui ",
        " documento manual página arquivo ficheiro guia artigo livro capítulo licença pacote "
        "programa biblioteca projeto secção seção relatório versão ",
        " exemplo contrário ",
        " segundo segunda terceiro terceira outro outra outros outras mesmo ",
        " ver veja consulte ",
        " mais " },
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
      { " dit dat deze die zulke beide echter daarom dus dan daardoor daarbij daarmee bovendien "
        "verder anders evenzo niettemin daarna ",
        " hij zij ze zijn haar hun maar en of ook nog er daar hier ",
        " document handboek handleiding pagina bestand artikel boek hoofdstuk licentie pakket "
        "programma bibliotheek project sectie rapport versie ",
        " voorbeeld tegenstelling ",
        " tweede derde vierde andere zelfde ",
        " zie raadpleeg ",
        " meer " },
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
      { " это этот эта эти этого этой этих тот та то те такой такая такие оба однако поэтому "
        "затем тогда также кроме иначе наоборот ",
        " он она оно они его её их но и или а ещё там здесь ",
        " документ руководство страница файл статья книга глава лицензия пакет программа "
        "библиотека проект раздел отчёт версия ",
        " примера пример ",
        " второй вторая третий третья другой другая другие ",
        " см смотрите ",
        " дополнительной " },
      false },
    { "zh", "Chinese", " ", " ", " ", " ",
      { " 我 你 您 咱 ", " 的 在 从 对 于 与 和 为 以 ", " 嗯 啊 呃 哦 哎 喔 吧 ", " 决 " },
      { " 这 那 此 其 该 ", " 它 他 她 但 而 也 ", " ", " ", " ", " ", " " }, false },
    { "ja", "Japanese", " ", " ", " ", " ",
      { " 私 僕 俺 ", " の を へ ", " ", " 決 " },
      { " 此 其 ", " ", " ", " ", " ", " ", " " }, false },
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
