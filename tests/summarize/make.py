#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of tests/summarize/files, and files.json, from the texts of texts.json.

Some of the files are examples too: these lie in examples/texts, and the folder has links to them.
make.py [--check]: with --check it writes nothing and fails if a file is not as it would be made.
A text of each language has an article, a talk and three messages; "!" begins their outcome.
"""

import base64
import email.header
import html
import json
import pathlib
import quopri
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))
TARGET = "../../../examples/texts/"
EXAMPLES = ("de-chat.txt", "de-thread.txt", "en-article.md", "en-talk.txt", "en-thread.mbox",
            "es-page.html", "fr-report.txt", "it-talk.srt", "nl-man.txt", "ru-utf-16be.txt",
            "zh-article.txt")
WIDE = ("zh", "ja")
SENDERS = ("anna", "ben", "cora")
SIGNATURE = ["-- ", "Archive Street 4, 12345 Town", "Tel. 555 0100. Open every day."]
FIELDS = {"de": ("Von", "Gesendet", "An", "Betreff"), "es": ("De", "Enviado", "Para", "Asunto")}


def wrap(text, lang, width=72):
    if lang in WIDE:
        return "\n".join(text[i:i + 36] for i in range(0, len(text), 36))
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def plain(lang):
    text = TEXTS[lang]
    lines = [text["title"] if lang in WIDE else text["title"].upper(), "", text["contents"], ""]
    lines += [f"{i + 1} {head} {'.' * (40 - len(head))} {i * 3 + 2}"
              for i, (head, _) in enumerate(text["article"])] + [""]
    for i, (head, paragraphs) in enumerate(text["article"]):
        lines += [f"{i + 1} {head}", ""]
        for paragraph in paragraphs:
            lines += [wrap(paragraph, lang), ""]
    lines += ["- " + item for item in text["items"]]
    lines += ["", "Nr.     Name     km", "1       Ost       4", "2       West      7", "", "* * *", ""]
    return "\n".join(lines)


def marked(paragraph):
    """A word bold, another one a link."""
    words = paragraph.split(" ")
    middle = len(words) // 2
    if words[middle].isalpha():
        words[middle] = f"**{words[middle]}**"
    if words[2].isalpha():
        words[2] = f"[{words[2]}](https://example.org/a_b)"
    return " ".join(words)


def markdown(lang):
    text = TEXTS[lang]
    lines = ["---", "title: " + text["title"], "---", "# " + text["title"], ""]
    lines += [f"- [{head}](#s{i})" for i, (head, _) in enumerate(text["article"])] + [""]
    for i, (head, paragraphs) in enumerate(text["article"]):
        lines += [f"## {head}", ""]
        for paragraph in paragraphs:
            lines += [wrap(paragraph if lang in WIDE else marked(paragraph), lang), ""]
        if i == 0:
            lines += ["> " + line for line in wrap(quoted(lang), lang).split("\n")] + [""]
        if i == 1:
            lines += ["```c", "int main(void) { return 0; }", "```", "", "| a | b |", "|---|---|",
                      "| 1 | 2 |", ""]
    return "\n".join(lines + ["* " + item for item in text["items"]] +
                     ["", "![a picture](x.png)", ""])


def page(lang, charset="utf-8"):
    text, escape = TEXTS[lang], html.escape
    lines = [f'<!DOCTYPE html>\n<html lang="{lang}"><head><meta charset="{charset}">'
             f'<title>{escape(text["title"])}</title>', "<style>p { color: red }</style>"
             '<script>if (a < b) document.write("<p>No.</p>");</script></head>',
             '<body><header><nav><ul><li><a href="/">Home</a></li><li><a href="/x">Archive</a></li>'
             "</ul></nav></header>", f"<main><h1>{escape(text['title'])}</h1>", '<ul class="toc">' +
             "".join(f'<li><a href="#{i}">{escape(head)}</a></li>'
                     for i, (head, _) in enumerate(text["article"])) + "</ul>"]
    for i, (head, paragraphs) in enumerate(text["article"]):
        lines.append(f'<h2 id="{i}">{escape(head)}</h2>')
        for paragraph in map(escape, paragraphs):
            if lang not in WIDE:
                words = paragraph.split(" ")
                words[1] = f"<em>{words[1]}</em>"
                paragraph = "\n".join(textwrap.wrap(" ".join(words), 70))
            for code, sign, name in (("fr", "é", "&eacute;"), ("de", "ü", "&#252;")):
                paragraph = paragraph.replace(sign, name) if lang == code else paragraph
            lines.append("<p>" + paragraph + ("</p>" if i % 2 else ""))
        if i == 0:
            lines.append(f"<blockquote><p>{escape(quoted(lang))}</p></blockquote>"
                         "<!-- a comment. It is hidden. -->")
        if i == 1:
            lines.append("<table><tr><td>1</td><td>2</td></tr></table><pre>x = 1</pre>")
    lines += ["<ul>"] + [f"<li>{escape(item)}</li>" for item in text["items"]]
    return "\n".join(lines + ["</ul></main>", "<footer><p>Copyright 2025. All rights reserved.</p>"
                              "</footer></body></html>", ""])


# ---- messages --------------------------------------------------------------------------------


def body(lang, number):
    text = TEXTS[lang]
    who, paragraphs = text["messages"][number]
    lines = [text["greeting"], ""]
    for paragraph in paragraphs:
        lines += [wrap(paragraph.lstrip("!"), lang), ""]
    return lines + [text["closing"], text["names"][who]]


def quotation(lang, number):
    text = TEXTS[lang]
    who = text["messages"][number][0]
    wrote = text["wrote"].format(n=text["names"][who], m=SENDERS[who] + "@example.org")
    return ["", wrote] + ["> " + line for line in "\n".join(body(lang, number)).split("\n")]


def fields(lang, number, *more):
    text = TEXTS[lang]
    who = text["messages"][number][0]

    def word(value):
        return value if value.isascii() else email.header.Header(value, "utf-8").encode(linesep="\n")

    return [f"From: {word(text['names'][who])} <{SENDERS[who]}@example.org>",
            "To: team@example.org",
            f"Subject: {word(('Re: ' if number else '') + text['title'])}",
            f"Date: Mon, 3 Mar 2025 1{number}:02:00 +0100",
            f"Message-ID: <{number}.{lang}@example.org>", "MIME-Version: 1.0", *more]


def letter(lang, encoding="8bit", charset="utf-8"):
    parts = [SIGNATURE, quotation(lang, 1)]
    if lang == "nl":                    # the signature below what is quoted
        parts.reverse()
    raw = "\n".join(body(lang, 2) + parts[0] + parts[1] + [""]).encode(charset)
    if encoding == "base64":
        raw = base64.encodebytes(raw)
    elif encoding == "quoted-printable":
        raw = quopri.encodestring(raw)
    head = fields(lang, 2, f"Content-Type: text/plain; charset={charset}",
                  f"Content-Transfer-Encoding: {encoding}")
    return "\n".join(head).encode() + b"\n\n" + raw


def multipart(lang):
    text = "\n".join(body(lang, 2) + SIGNATURE + quotation(lang, 1) + [""])
    page_of = "".join(f"<p>{html.escape(paragraph.lstrip('!'))}</p>"
                      for paragraph in TEXTS[lang]["messages"][2][1])
    return "\n".join(
        fields(lang, 2, 'Content-Type: multipart/mixed; boundary="outer"') +
        ["", "preamble", "--outer", "Content-Type: multipart/alternative; boundary=inner", "",
         "--inner", 'Content-Type: text/plain; charset="utf-8"',
         "Content-Transfer-Encoding: quoted-printable", "",
         quopri.encodestring(text.encode()).decode(),
         "--inner", "Content-Type: text/html; charset=utf-8", "",
         f"<html><body>{page_of}</body></html>", "--inner--", "",
         "--outer", "Content-Type: application/pdf",
         "Content-Disposition: attachment; filename=a.pdf", "Content-Transfer-Encoding: base64", "",
         base64.encodebytes(b"%PDF-1.4 nothing here").decode(), "--outer--", ""])


def mbox(lang):
    lines = []
    for number, (who, _) in enumerate(TEXTS[lang]["messages"]):
        lines += [f"From {SENDERS[who]}@example.org Mon Mar  3 1{number}:02:00 2025"]
        lines += fields(lang, number, "Content-Type: text/plain; charset=utf-8",
                        "Content-Transfer-Encoding: 8bit") + [""]
        lines += body(lang, number) + SIGNATURE
        lines += (quotation(lang, number - 1) if number else []) + [""]
    return "\n".join(lines)


def thread(lang):
    names, lines = FIELDS[lang], []
    for number, (who, _) in enumerate(TEXTS[lang]["messages"]):
        values = (f"{TEXTS[lang]['names'][who]} <{SENDERS[number]}@example.org>",
                  f"3.3.2025 1{number}:02", "Team", TEXTS[lang]["title"])
        lines += [f"{name}: {value}" for name, value in zip(names, values)] + [""]
        lines += body(lang, number) + ["", "_" * 32, ""]
    return "\n".join(lines)


# ---- talks -----------------------------------------------------------------------------------


def talk(lang, stamp=""):
    text, lines = TEXTS[lang], []
    colon = "：" if lang in WIDE else " : " if lang == "fr" else ": "
    for i, (who, said) in enumerate(text["talk"]):
        name, said = text["names"][who], said.lstrip("!")
        time = f"00:{i:02d}:{i * 7 % 60:02d}"
        if stamp == "before":
            lines.append(f"[{time}] {name}{colon}{said}")
        elif stamp == "behind":
            lines += [f"{name} ({time}): {said}", ""]
        elif stamp == "alone":
            lines += [f"{name}  {i}:{i * 7 % 60:02d}", wrap(said, lang), ""]
        else:
            lines += [wrap(name + colon + said, lang), ""]
    return "\n".join(lines) + "\n"


def captions(lang, srt=False):
    text, second, number = TEXTS[lang], 0, 0
    lines = [] if srt else ["WEBVTT", "Kind: captions", ""]
    for who, said in text["talk"]:
        said, name = said.lstrip("!"), text["names"][who]
        parts = ([said[i:i + 20] for i in range(0, len(said), 20)] if lang in WIDE
                 else textwrap.wrap(said, 38))
        for i, part in enumerate(parts):
            number += 1
            times = [f"00:{s // 60:02d}:{s % 60:02d}" for s in (second, second + 2)]
            second += 2
            if srt:
                lines += [str(number), f"{times[0]},100 --> {times[1]},000",
                          (f"{name}: " if i == 0 else "") + part, ""]
            else:
                lines += [f"{times[0]}.100 --> {times[1]}.000 align:start", f"<v {name}>{part}</v>",
                          ""]
    return "\n".join(lines)


def chat(lang):
    return "".join(f"[03.03.25, 10:{i:02d}:11] {TEXTS[lang]['names'][who]}: {said.lstrip('!')}\n"
                   for i, (who, said) in enumerate(TEXTS[lang]["talk"]))


# ---- pages -----------------------------------------------------------------------------------


def hyphenated(text, width):
    lines, line = [], ""
    for word in text.split(" "):
        room = width - len(line) - 2
        if len(line) + 1 + len(word) <= width:
            line = (line + " " + word).strip()
        elif word.isalpha() and len(word) > 7 and 3 <= room <= len(word) - 3 and word.islower():
            lines.append(f"{line} {word[:room]}-")
            line = word[room:]
        else:
            lines.append(line)
            line = word
    return lines + [line]


def report(lang):
    text = TEXTS[lang]
    lines = [text["contents"], ""]
    lines += [f"{i + 1} {head} . . . . . . . . . {i + 2}"
              for i, (head, _) in enumerate(text["article"])] + [""]
    for head, paragraphs in text["article"]:
        lines += [head, ""]
        for paragraph in paragraphs:
            lines += hyphenated(paragraph, 46) + [""]
    lines += ["• " + item for item in text["items"]]
    pages = []
    for i in range(0, len(lines), 14):
        number = i // 14 + 1
        pages.append("\n".join([text["title"] + " 2025", ""] + lines[i:i + 14] +
                               ["", f"{text['page']} {number}" if number % 2 else str(number), ""]))
    return "\f".join(pages)


def man(lang, struck):
    text = TEXTS[lang]

    def bold(word):
        return "".join(c + "\b" + c if c.isalnum() else c for c in word) if struck else word

    edge = "FERRY(1)                    User Commands                    FERRY(1)"
    lines = [edge, "", bold("NAME"), "       ferry - " + text["title"], "", bold("SYNOPSIS"),
             "       ferry [-a] [--best NAME] FILE...", ""]
    for head, paragraphs in text["article"]:
        lines.append(bold(head.upper()))
        for paragraph in paragraphs:
            lines += ["       " + line for line in hyphenated(paragraph, 60)] + [""]
    lines += [bold("OPTIONS"), "       " + bold("-a") + ", --all",
              "              " + text["items"][0], "", "       --best NAME",
              "              " + text["items"][2], "",
              bold("AUTHOR"), "       A hidden hand wrote this page in its best years.", "",
              "heed 1.0                     2025-03-03                     FERRY(1)", ""]
    return "\n".join(lines)


# ---- the list --------------------------------------------------------------------------------


def quoted(lang):
    return TEXTS[lang]["messages"][0][1][0]


def outcome(texts):
    return next(text[1:] for text in texts if text.startswith("!"))


def articles(lang):
    text = TEXTS[lang]
    never = [text["items"][1], "Copyright", "hidden", quoted(lang)[:20]]
    yield f"{lang}-article.md", markdown(lang), "markdown", {"never": never}
    if lang in ("en", "zh", "ja"):
        yield f"{lang}-article.txt", plain(lang), "plain", {"never": never}
    if lang == "pt":
        yield "pt-article.txt", plain(lang).replace("\n", "\r\n"), "plain", {"never": never}
    if lang == "de":
        yield "de-latin.html", page(lang, "windows-1252").encode("cp1252"), "html", \
            {"never": never, "encoding": "windows-1252"}
    elif lang != "nl":
        yield f"{lang}-page.html", page(lang), "html", {"never": never}
    if lang in ("en", "de", "fr"):
        yield f"{lang}-report.txt", report(lang), "pages", {"never": never}
    if lang in ("en", "nl"):
        yield f"{lang}-man.txt", man(lang, lang == "en"), "man", {"never": never}
    wide = {"es": ("UTF-16LE", b"\xff\xfe", "utf-16-le"), "ru": ("UTF-16BE", b"\xfe\xff", "utf-16-be"),
            "it": ("windows-1252", b"", "cp1252")}
    if lang in wide:
        name, mark, codec = wide[lang]
        yield f"{lang}-{name.lower()}.txt", mark + plain(lang).encode(codec), "plain", \
            {"never": never, "encoding": name}


def messages(lang):
    text = TEXTS[lang]
    more = {"outcome": outcome(part for _, parts in text["messages"] for part in parts),
            "never": ["555"]}
    sent = dict(more, never=["555", text["messages"][1][1][0][:20]])
    sorts = {"de": ("quoted-printable", "iso-8859-1"), "es": (), "it": ("base64",),
             "pt": ("quoted-printable",), "nl": (), "ru": ("base64", "koi8-r"), "zh": ("base64",),
             "ja": ("base64", "iso-2022-jp")}
    if lang == "en":
        yield "en-letter.eml", multipart(lang), "mail", sent
    if lang in sorts:
        yield f"{lang}-letter.eml", letter(lang, *sorts[lang]), "mail", sent
    if lang in ("en", "fr", "ru"):
        yield f"{lang}-thread.mbox", mbox(lang), "mail", more
    if lang in FIELDS:
        yield f"{lang}-thread.txt", thread(lang), "mail", more


def talks(lang):
    more = {"outcome": outcome(said for _, said in TEXTS[lang]["talk"])}
    stamps = {"de": "before", "pt": "before", "ja": "before", "es": "behind", "nl": "behind",
              "it": "alone"}
    yield f"{lang}-talk.txt", talk(lang, stamps.get(lang, "")), "plain", more
    if lang in ("en", "nl", "ja"):
        yield f"{lang}-talk.vtt", captions(lang), "captions", more
    if lang in ("fr", "it"):
        yield f"{lang}-talk.srt", captions(lang, True), "captions", more
    if lang in ("en", "de"):
        yield f"{lang}-chat.txt", chat(lang), "plain", more


def prose(lang):
    text = TEXTS[lang]
    parts = [part for _, paragraphs in text["article"] for part in paragraphs]
    parts += [text["items"][0], text["items"][2]] + [said for _, said in text["talk"]]
    return [part.lstrip("!") for part in
            parts + [part for _, paragraphs in text["messages"] for part in paragraphs]]


def write(path, data):
    path.parent.mkdir(exist_ok=True)
    if path.name in EXAMPLES and not path.is_symlink():
        path.unlink(missing_ok=True)
        path.symlink_to(TARGET + path.name)
    path.write_bytes(data)


def main():
    check, made, listed = "--check" in sys.argv, {}, []
    for lang in TEXTS:
        for sort in (articles, messages, talks):
            for name, data, form, more in sort(lang):
                made[name] = data if isinstance(data, bytes) else data.encode()
                listed.append({"name": name, "format": form, "language": lang, **more})
    side = json.dumps({"files": listed, "prose": {lang: prose(lang) for lang in TEXTS}},
                      ensure_ascii=False, indent=1) + "\n"
    made = {HERE / "files" / name: data for name, data in made.items()}
    made[HERE / "files.json"] = side.encode()
    if not check:
        for path, data in made.items():
            write(path, data)
    wrong = [path.name for path, data in made.items() if path.read_bytes() != data]
    wrong += [path.name for path in (HERE / "files").iterdir() if path not in made]
    wrong += [path.name for path in (HERE / "files" / TARGET).iterdir()
              if path.name not in (*EXAMPLES, "README.md")]
    print(f"{len(made)} files" + "".join(f"\nnot as it is made: {name}" for name in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
