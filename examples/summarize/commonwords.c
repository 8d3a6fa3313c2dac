/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Words that say something in a sentence, and nothing as a keyword: numbers, how much, how often,
 * what everything can be and everyone does. By language, sorted by their bytes, without its stop
 * words. Languages of signs have none: a sign is part of many words.
 */
#include "language.h"

static const char *const en_words[] = {
    "able", "agree", "agreed", "agrees", "almost", "already", "although", "always", "another",
    "anybody", "anyone", "anything", "anyway", "ask", "asked", "asks", "away", "bad", "became",
    "become", "becomes", "began", "begin", "best", "better", "big", "bit", "both", "bring",
    "brought", "call", "called", "came", "certain", "come", "comes", "coming", "cool", "dear",
    "decide", "decided", "decides", "different", "easy", "eight", "either", "eleven", "else",
    "enough", "especially", "ever", "every", "everybody", "everyone", "everything", "exactly",
    "feel", "felt", "fifth", "find", "finds", "fine", "first", "five", "found", "four", "fourth",
    "gave", "give", "given", "gives", "giving", "goes", "gone", "gonna", "good", "gotta", "great",
    "guess", "half", "happen", "happened", "happens", "hard", "hello", "herself", "high",
    "himself", "however", "hundred", "important", "instead", "interesting", "itself", "keep",
    "keeps", "kept", "kind", "kinds", "knew", "known", "large", "last", "later", "least", "left",
    "less", "let", "lets", "liked", "likes", "little", "long", "look", "looked", "looking",
    "looks", "lot", "lots", "low", "made", "main", "make", "makes", "making", "many", "maybe",
    "mean", "means", "meant", "million", "need", "needed", "needs", "neither", "never", "new",
    "next", "nice", "nine", "nobody", "none", "nothing", "often", "old", "once", "perhaps",
    "please", "possible", "probably", "put", "puts", "quite", "rather", "regards", "saw",
    "saying", "says", "second", "seem", "seemed", "seems", "seen", "seven", "several", "short",
    "show", "showed", "shown", "shows", "similar", "simply", "since", "six", "small", "somebody",
    "somehow", "someone", "something", "sometimes", "somewhere", "soon", "sort", "sorts", "start",
    "started", "still", "stuff", "take", "taken", "takes", "taking", "talk", "talked", "talking",
    "tell", "tells", "ten", "thank", "thanks", "themselves", "therefore", "third", "though",
    "thought", "thousand", "three", "together", "told", "took", "tried", "try", "trying",
    "twelve", "twice", "two", "use", "used", "uses", "using", "usually", "wanna", "want",
    "wanted", "wants", "went", "whether", "whole", "within", "without", "zero",
};

static const char *const de_words[] = {
    "acht", "allerdings", "alt", "alte", "alten", "alter", "altes", "außerdem", "bald", "beide",
    "beiden", "beim", "bereits", "beschlossen", "besonders", "besser", "besten", "bisher",
    "bitte", "bleiben", "bleibt", "blieb", "brauchen", "braucht", "bzw", "dabei", "dafür",
    "daher", "danke", "daran", "darauf", "darf", "darüber", "davon", "denke", "deshalb", "drei",
    "dritte", "dritten", "dritter", "drittes", "dürfen", "ebenfalls", "elf", "entschieden",
    "erste", "ersten", "erster", "erstes", "etwa", "fand", "fast", "finden", "findet", "fünf",
    "gab", "ganz", "ganze", "ganzen", "gar", "geben", "gegangen", "gegeben", "gehen", "geht",
    "gekommen", "gemacht", "genommen", "gesagt", "gibt", "ging", "glaube", "groß", "große",
    "großen", "großer", "großes", "gruß", "größer", "grüße", "gut", "gute", "guten", "guter",
    "gutes", "halb", "hallo", "heraus", "hinaus", "hundert", "hätte", "hätten", "immer", "jedoch",
    "jemand", "kam", "klein", "kleine", "kleinen", "kleiner", "kleines", "kommen", "kommt",
    "konnte", "konnten", "könnten", "lag", "lang", "lange", "langen", "lassen", "letzte",
    "letzten", "letzter", "liebe", "lieber", "liegen", "liegt", "ließ", "lässt", "macht",
    "machte", "manchmal", "mehr", "mehrere", "mehreren", "meisten", "million", "millionen",
    "mussten", "möglich", "müssen", "müsste", "nahm", "nehmen", "neu", "neue", "neuen", "neuer",
    "neues", "neun", "nie", "niemals", "niemand", "nimmt", "null", "nächste", "nächsten", "oft",
    "rund", "sagen", "sagt", "sagte", "schon", "sechs", "sei", "seien", "sieben", "sogar",
    "sollen", "sollten", "sowie", "später", "stand", "stehen", "steht", "tausend", "trotzdem",
    "viele", "vielen", "vieler", "vielleicht", "vier", "weiß", "wenig", "wenige", "wenigen",
    "weniger", "wichtig", "wichtige", "wichtigen", "wohl", "worden", "wurde", "wurden", "wäre",
    "wären", "zehn", "zeigen", "zeigt", "zeigte", "zwei", "zweite", "zweiten", "zweiter",
    "zweites", "zwölf",
};

static const char *const fr_words[] = {
    "afin", "ainsi", "allait", "aller", "alors", "assez", "aucun", "aucune", "aussi", "autre",
    "autres", "beaucoup", "bien", "bientôt", "bon", "bonjour", "bonne", "bonnes", "bons", "car",
    "celle", "celles", "celui", "cent", "cents", "cependant", "certain", "certaine", "certaines",
    "certains", "ceux", "chaque", "cinq", "comme", "cordialement", "dernier", "derniers",
    "dernière", "dernières", "deux", "deuxième", "devait", "devraient", "devrait", "dire",
    "disent", "dit", "dix", "doit", "doivent", "donc", "donne", "donner", "donné", "dont",
    "douze", "décidé", "déjà", "encore", "ensuite", "faire", "fait", "fallait", "faut", "fera",
    "ferait", "font", "grand", "grande", "grandes", "grands", "huit", "important", "importante",
    "jamais", "long", "longue", "lors", "merci", "met", "mettre", "mieux", "mille", "million",
    "millions", "mis", "moins", "mêmes", "neuf", "nouveau", "nouveaux", "nouvelle", "nouvelles",
    "onze", "où", "parfois", "personne", "petit", "petite", "petites", "petits", "peu", "peut",
    "peuvent", "plus", "plusieurs", "possible", "pourraient", "pourrait", "pourtant", "pouvait",
    "premier", "premiers", "première", "premières", "prend", "prendre", "presque", "pris",
    "prochain", "prochaine", "puis", "quand", "quatre", "quelqu", "quelque", "quelques", "reste",
    "rester", "rien", "second", "seconde", "semble", "sept", "si", "six", "souvent", "tel",
    "telle", "toujours", "tous", "tout", "toute", "toutes", "trois", "troisième", "trop",
    "trouve", "trouver", "trouvé", "très", "va", "venir", "veulent", "veut", "vieille",
    "viennent", "vient", "vieux", "vont", "voulait", "zéro",
};

static const char *const es_words[] = {
    "además", "ahora", "alguien", "alguna", "alguno", "algún", "ambas", "ambos", "así", "aunque",
    "aún", "bastante", "bien", "buena", "buenas", "bueno", "buenos", "cada", "casi", "cero",
    "cien", "ciento", "cientos", "cinco", "cuales", "cuatro", "cuyo", "da", "dan", "dar", "debe",
    "deben", "deberse", "debería", "debía", "decidido", "decir", "demasiado", "después", "dice",
    "dicen", "diez", "dijo", "dio", "doce", "dos", "entonces", "estimada", "estimado", "gracias",
    "gran", "grande", "grandes", "hace", "hacen", "hacer", "haciendo", "hecho", "hizo", "hola",
    "iba", "importante", "ir", "larga", "largo", "luego", "mejor", "menos", "mientras", "mil",
    "millones", "millón", "misma", "mismas", "mismo", "mismos", "mucha", "muchas", "nadie",
    "ninguna", "ninguno", "ningún", "nueva", "nuevas", "nueve", "nuevo", "nuevos", "nunca",
    "ocho", "once", "parece", "peor", "pequeña", "pequeñas", "pequeño", "pequeños", "poca",
    "pocas", "pocos", "podría", "podrían", "podía", "pone", "poner", "posible", "primer",
    "primera", "primeras", "primero", "primeros", "próxima", "próximo", "puede", "pueden", "puso",
    "queda", "quedan", "quedó", "quería", "quiere", "quieren", "quizá", "quizás", "saludos",
    "segunda", "segundo", "seis", "ser", "siempre", "siete", "solo", "sólo", "tal", "tan",
    "tercer", "tercera", "tercero", "toda", "todas", "todavía", "toma", "tomar", "tres", "va",
    "van", "varias", "varios", "venir", "vieja", "viejo", "viene", "vino", "última", "últimas",
    "último", "últimos",
};

static const char *const it_words[] = {
    "abbastanza", "adesso", "alcune", "alcuni", "altra", "altre", "altri", "altro", "ancora",
    "andare", "anzi", "avere", "bene", "buona", "buone", "buongiorno", "buoni", "buono", "cento",
    "ciao", "cinque", "così", "dare", "dato", "deciso", "detto", "deve", "devono", "dice",
    "dieci", "dire", "dodici", "dopo", "doveva", "dovrebbe", "due", "dà", "entrambi", "essere",
    "fare", "fatto", "forse", "già", "grande", "grandi", "grazie", "importante", "inoltre",
    "lunga", "lungo", "mai", "meglio", "meno", "mentre", "messo", "mette", "mettere", "mila",
    "milione", "milioni", "mille", "molta", "molte", "molti", "molto", "nessuna", "nessuno",
    "niente", "nove", "nulla", "nuova", "nuove", "nuovi", "nuovo", "ogni", "ognuno", "ora",
    "otto", "però", "piccola", "piccole", "piccoli", "piccolo", "poca", "poche", "pochi", "poco",
    "poi", "possibile", "possono", "poteva", "potrebbe", "potrebbero", "prende", "prendere",
    "preso", "prima", "prime", "primi", "primo", "prossima", "prossimo", "può", "qualche",
    "qualcosa", "qualcuno", "quando", "quasi", "quattro", "quindi", "resta", "saluti", "salve",
    "seconda", "secondo", "sempre", "sette", "solo", "soltanto", "spesso", "stata", "state",
    "stati", "stato", "stessa", "stesso", "tale", "tali", "tanto", "terza", "terzo", "tre",
    "troppo", "trova", "tutta", "tutte", "ultima", "ultime", "ultimi", "ultimo", "undici", "va",
    "vanno", "vecchia", "vecchio", "vengono", "venire", "venuto", "viene", "vogliono", "vuole",
    "zero",
};

static const char *const pt_words[] = {
    "agora", "ainda", "algo", "algum", "alguma", "algumas", "alguns", "alguém", "além", "ambos",
    "antes", "apenas", "assim", "bastante", "bem", "boa", "boas", "bom", "bons", "cada", "cem",
    "cento", "cinco", "dar", "decidido", "demais", "deu", "deve", "devem", "deveria", "devia",
    "dez", "disse", "diz", "dizer", "dois", "doze", "duas", "dá", "enquanto", "faz", "fazem",
    "fazer", "feito", "fez", "fica", "ficar", "ficou", "grande", "grandes", "ia", "importante",
    "ir", "logo", "longa", "longo", "melhor", "menos", "mesma", "mesmas", "mesmos", "mil",
    "milhão", "milhões", "muita", "muitas", "muitos", "nada", "nenhum", "nenhuma", "ninguém",
    "nova", "novas", "nove", "novo", "novos", "nunca", "obrigada", "obrigado", "oito", "olá",
    "onze", "outra", "outras", "outro", "outros", "parece", "pequena", "pequenas", "pequeno",
    "pequenos", "pior", "pode", "podem", "poderia", "podia", "portanto", "porém", "possível",
    "pouca", "poucas", "pouco", "poucos", "primeira", "primeiras", "primeiro", "primeiros",
    "próxima", "próximo", "pôr", "põe", "quase", "quatro", "quer", "querem", "queria",
    "saudações", "segunda", "segundo", "seis", "sempre", "sendo", "ser", "sete", "sido", "tal",
    "talvez", "ter", "terceira", "terceiro", "toda", "todas", "todo", "todos", "três", "tão",
    "vai", "veio", "velha", "velho", "vem", "vir", "várias", "vários", "vão", "zero", "última",
    "últimas", "último", "últimos",
};

static const char *const nl_words[] = {
    "acht", "alle", "allemaal", "ander", "bedankt", "beide", "belangrijk", "besloten", "best",
    "beste", "beter", "bijna", "bleef", "blijft", "blijkt", "blijven", "bovendien", "daarom",
    "dank", "deed", "derde", "doet", "drie", "duizend", "echter", "eerste", "elf", "elk", "elke",
    "enkele", "erg", "gaan", "gaat", "gaf", "gedaan", "geeft", "gegaan", "gegeven", "gekomen",
    "gemaakt", "geven", "gezegd", "ging", "goed", "goede", "groeten", "groot", "grote", "half",
    "hallo", "heel", "hoewel", "honderd", "ieder", "iedere", "klein", "kleine", "komen", "komt",
    "konden", "kunt", "kwam", "laat", "laatste", "lag", "lang", "lange", "laten", "later", "liet",
    "liggen", "ligt", "maakt", "maakte", "mag", "maken", "meest", "miljoen", "minder",
    "misschien", "moest", "moesten", "moeten", "mogelijk", "mogen", "nam", "neemt", "negen",
    "nemen", "niemand", "nieuw", "nieuwe", "nooit", "nul", "ongeveer", "oud", "oude", "sommige",
    "soms", "staan", "staat", "stond", "terwijl", "tien", "twaalf", "twee", "tweede", "vaak",
    "vele", "vier", "vijf", "vinden", "vindt", "volgende", "vond", "waar", "weer", "weinig",
    "wel", "werden", "wilde", "willen", "zag", "zeer", "zeggen", "zegt", "zei", "zes", "zeven",
    "zien", "ziet", "zouden", "zowel", "zullen",
};

static const char *const ru_words[] = {
    "большая", "большие", "большой", "важно", "весь", "взять", "восемь", "вся", "всё", "вторая",
    "второе", "второй", "говорит", "дал", "дать", "две", "девять", "делает", "делать", "десять",
    "длинный", "должен", "должна", "должны", "другая", "другие", "других", "ещё", "здравствуйте",
    "идет", "идёт", "именно", "каждая", "каждого", "каждое", "каждой", "каждый", "лучший",
    "любой", "маленькая", "маленький", "меньше", "миллион", "многие", "мог", "могла", "могли",
    "могут", "можем", "некоторые", "несколько", "никто", "новая", "новое", "новые", "новый",
    "новых", "ноль", "нужно", "оба", "обе", "однако", "около", "особенно", "очень", "первая",
    "первого", "первое", "первой", "первые", "первый", "пожалуйста", "пойти", "пока", "последний",
    "последняя", "поэтому", "привет", "прийти", "примерно", "пришел", "пришёл", "пять", "редко",
    "решили", "самая", "самый", "сделал", "сделать", "семь", "сказали", "скоро", "следующий",
    "снова", "спасибо", "стал", "стала", "стали", "старая", "старые", "старый", "сто", "стоит",
    "также", "третий", "третье", "третья", "тысяч", "тысяча", "тысячи", "хорошая", "хороший",
    "хотел", "хотела", "хотят", "хочет", "часто", "четыре", "шесть",
};

const struct word_list common_words[] = {
    WORD_LIST(en), WORD_LIST(de), WORD_LIST(fr), WORD_LIST(es), WORD_LIST(it), WORD_LIST(pt),
    WORD_LIST(nl), WORD_LIST(ru), { NULL, NULL, 0 }
};
