#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged documents and such as mean harm: damaged.py HEED-SUMMARIZE [--all]

PDF, DOCX, ODT and EPUB, made on the fly, of which each is refused with one clear line and exit 2, or
has a summary and exit 0 where the damage does not matter; never a crash, a signal, a report of a
sanitizer, or more time and memory than hostile.py allows. Those that a process of its own may not
survive count: the line says that it stopped. Then every format is cut at many places, and has
single bits turned, with --all at every place and every bit of its first and last 4 KiB.
"""

import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib

import hostile
import packed

REFUSED, READ, EITHER = {2}, {0}, {0, 2}
XML = packed.XML
CUTS, TURNS = 60, 150               # of each format, without --all
EDGE = 4096


# ---- archives ------------------------------------------------------------------------------------


def with_part(parts, name, data):
    """The parts with another, or one more, of that name."""
    return [one for one in parts if one[0] != name] + [(name, data)]


def word(body, more=""):
    return packed.archive(with_part(packed.docx_parts("en"), "word/document.xml",
                                    XML + more + f"<w:document {packed.W}><w:body>{body}</w:body>"
                                    "</w:document>"))


def book(chapters, spine=None, container=packed.CONTAINER, more=()):
    """Chapters: {href: text}."""
    items = [(f"i{i}", href, "") for i, href in enumerate(chapters)]
    opf = packed.package("A book", items, [(ident, "") for ident, _, _ in items]
                         if spine is None else spine)
    return packed.archive([("mimetype", "application/epub+zip"), ("META-INF/container.xml", container),
                           ("OEBPS/book.opf", opf),
                           *((f"OEBPS/{href}", text) for href, text in chapters.items()), *more],
                          ["mimetype"])


def changed(data, at, new):
    return data[:at] + new + data[at + len(new):]


def central(data):
    """Where the list of an archive begins."""
    return data.index(b"PK\1\2")


def archives():
    good = packed.docx("en")
    at, end = central(good), good.rindex(b"PK\5\6")
    prose = packed.word_paragraph(packed.word_run(hostile.PROSE))
    yield "only-magic.docx", b"PK\3\4", REFUSED
    yield "only-end.docx", good[end:] + bytes(100), REFUSED
    yield "no-end.docx", good[:end], REFUSED
    yield "no-list.docx", good[:at] + good[end:], REFUSED
    yield "many-entries.docx", changed(good, end + 8, struct.pack("<HH", 65535, 65535)), REFUSED
    yield "list-far-away.docx", changed(good, end + 16, struct.pack("<I", 0xFFFFFFF0)), REFUSED
    yield "huge-sizes.docx", changed(good, at + 20, struct.pack("<II", 0xFFFFFFFE, 0xFFFFFFFE)), EITHER
    yield "huge-name.docx", changed(good, at + 28, b"\xff\xff"), REFUSED
    yield "far-entry.docx", changed(good, at + 42, struct.pack("<I", 0xFFFFFF00)), EITHER
    yield "unknown-method.docx", changed(changed(good, at + 10, b"\x63\0"), 8, b"\x63\0"), EITHER
    yield "encrypted.docx", b"".join(
        part if i == 0 else b"PK\1\2" + part[:4] + b"\1" + part[5:]
        for i, part in enumerate(good.split(b"PK\1\2"))), REFUSED
    wrong_crc = bytearray(good)
    for i in range(len(good) - 46):
        if good[i:i + 4] == b"PK\1\2":
            wrong_crc[i + 16:i + 20] = b"\1\2\3\4"
    yield "wrong-crc.docx", bytes(wrong_crc), REFUSED
    yield "text-before.docx", b"x" * 1000 + good, EITHER
    yield "text-behind.docx", good + b"x" * 1000, READ
    yield "nothing-in-it.docx", packed.archive([("word/document.xml", "")]), REFUSED
    yield "no-document.docx", packed.archive([("word/documents.xml", "<a/>")]), REFUSED
    yield "a-picture.docx", packed.archive([("word/document.xml", hostile.noise(9000, 5))]), REFUSED
    yield "no-styles.docx", packed.archive([one for one in packed.docx_parts("en")
                                            if one[0] != "word/styles.xml"]), READ
    yield "sheet.xlsx", packed.archive([("xl/workbook.xml", "<a/>" * 50)]), REFUSED
    yield "sheet.docx", packed.archive([("xl/workbook.xml", "<a/>" * 50)]), REFUSED
    yield "zip.odt", packed.archive([("x.txt", hostile.PROSE * 20)]), REFUSED
    yield "nested.docx", packed.archive([("word/document.xml", good)]), REFUSED
    yield "outside.docx", packed.archive(with_part(
        packed.docx_parts("en"), "_rels/.rels",
        packed.RELATIONS.replace("word/document.xml", "../../../../etc/passwd"))), REFUSED
    yield "main-elsewhere.docx", packed.archive([
        (name.replace("word/document.xml", "word/document7.xml"),
         text.replace("word/document.xml", "word/document7.xml"))
        for name, text in packed.docx_parts("en")]), READ
    yield "names.docx", packed.archive([(f"../../{'a/' * i}x" + "\N{WHITE SMILING FACE}" * 50, "x")
                                        for i in range(200)] + packed.docx_parts("en")), READ
    yield "same-names.docx", zip_of_same("word/document.xml", [
        XML + f"<w:document {packed.W}><w:body>{prose}</w:body></w:document>"] * 50), EITHER
    yield "many-parts.docx", packed.archive([(f"x{i}", "") for i in range(20000)] +
                                            packed.docx_parts("en")), EITHER
    yield "bomb.docx", bomb("word/document.xml", 300 << 20), REFUSED
    yield "bomb-styles.docx", packed.archive(with_part(packed.docx_parts("en"), "word/styles.xml",
                                                       b" " * (20 << 20))), REFUSED
    yield "same-text.docx", word(prose * 100000), REFUSED


def zip_of_same(name, texts):
    with tempfile.TemporaryFile() as path, warnings.catch_warnings():
        warnings.simplefilter("ignore")            # of the name that is there already
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for text in texts:
                file.writestr(zipfile.ZipInfo(name), text)
        path.seek(0)
        return path.read()


def bomb(name, size):
    """Of one part, as many times its size as DEFLATE can."""
    with tempfile.TemporaryFile() as path:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w") as part:
            part.write(f"{XML}<w:document {packed.W}><w:body><w:p><w:r><w:t>".encode())
            for _ in range(size >> 20):
                part.write(b"a. " * (1 << 20))
        path.seek(0)
        return path.read()


# ---- XML -------------------------------------------------------------------------------------------


def markup():
    run, prose = packed.word_run, packed.word_run(hostile.PROSE)
    laughs = "<!DOCTYPE x [<!ENTITY a0 'ha'>" + "".join(
        f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 12)) + "]>"
    yield "laughs.docx", word("<w:p><w:r><w:t>&a11;</w:t></w:r></w:p>", laughs), REFUSED
    yield "quadratic.docx", word("<w:p><w:r><w:t>" + "&b;" * 20000 + "</w:t></w:r></w:p>",
                                 f"<!DOCTYPE x [<!ENTITY b '{'b' * 50000}'>]>"), REFUSED
    yield "outside-entity.docx", word(
        "<w:p><w:r><w:t>&c;</w:t></w:r></w:p>",
        "<!DOCTYPE x [<!ENTITY c SYSTEM 'file:///etc/passwd'>]>"), REFUSED
    yield "parameter-entity.docx", word(
        packed.word_paragraph(prose),
        "<!DOCTYPE x [<!ENTITY % d SYSTEM 'http://example.org/x.dtd'> %d;]>"), REFUSED
    yield "outside-dtd.docx", word(packed.word_paragraph(prose),
                                   "<!DOCTYPE x SYSTEM 'http://example.org/x.dtd'>"), EITHER
    yield "unknown-entity.docx", word("<w:p><w:r><w:t>&nbsp;</w:t></w:r></w:p>"), REFUSED
    yield "deep.docx", word("<w:p>" * 200000), REFUSED
    yield "deep-closed.docx", word("<w:sdt>" * 5000 + packed.word_paragraph(prose) +
                                   "</w:sdt>" * 5000), REFUSED
    yield "wrong-ends.docx", word("<w:p></w:r></w:p>"), REFUSED
    yield "cut-tag.docx", packed.archive(with_part(packed.docx_parts("en"), "word/document.xml",
                                                   f"<w:document {packed.W}><w:body><w:p")), REFUSED
    yield "long-tag.docx", word(f"<w:p w:x='{'y' * 3000000}'/>" + packed.word_paragraph(prose)), EITHER
    yield "many-attributes.docx", word("<w:p " + " ".join(f"a{i}='1'" for i in range(50000)) + "/>" +
                                       packed.word_paragraph(prose)), EITHER
    yield "long-paragraph.docx", word(packed.word_paragraph(prose * 3000)), EITHER
    yield "nuls.docx", word("<w:p><w:r><w:t>a\0b</w:t></w:r></w:p>"), REFUSED
    yield "bad-utf8.docx", packed.archive(with_part(
        packed.docx_parts("en"), "word/document.xml",
        f"<w:document {packed.W}><w:body>".encode() + b"\xc3\x28\xff</w:body></w:document>")), REFUSED
    yield "utf16.docx", packed.archive(with_part(
        packed.docx_parts("en"), "word/document.xml",
        dict(packed.docx_parts("en"))["word/document.xml"].replace("UTF-8", "UTF-16").encode(
            "utf-16"))), READ
    yield "unknown-encoding.docx", packed.archive(with_part(
        packed.docx_parts("en"), "word/document.xml",
        "<?xml version='1.0' encoding='x-none'?><a/>")), REFUSED
    yield "no-namespace.docx", packed.archive(with_part(
        packed.docx_parts("en"), "word/document.xml", "<document><p>One.</p></document>")), EITHER
    yield "cyclic-styles.docx", packed.archive(with_part(
        packed.docx_parts("en"), "word/styles.xml",
        f"<w:styles {packed.W}>" + "".join(
            f"<w:style w:styleId='Text{i}'><w:basedOn w:val='Text{(i + 1) % 3}'/></w:style>"
            for i in range(3)) + "</w:styles>")), READ
    yield "many-styles.docx", packed.archive(with_part(
        packed.docx_parts("en"), "word/styles.xml",
        f"<w:styles {packed.W}>" + "".join(f"<w:style w:styleId='s{i}'/>" for i in range(20000)) +
        "</w:styles>")), EITHER
    yield "open-tables.docx", word("<w:tbl><w:tr><w:tc>" * 100 + packed.word_paragraph(prose) +
                                   "</w:tc></w:tr></w:tbl>" * 100), READ
    yield "ends-of-nothing.docx", word("<w:tr/><w:tbl/><w:t/><w:pPr/>" * 2000 +
                                       packed.word_paragraph(prose)), READ
    yield "escapes.docx", word(packed.word_paragraph(run("A \u009b31m title. It \u202e is \u00ad so."
                                                         * 20))), READ


def offices():
    parts = packed.odt_parts("en")
    content = dict(parts)["content.xml"]
    yield "no-content.odt", packed.archive([one for one in parts if one[0] != "content.xml"],
                                           ["mimetype"]), REFUSED
    yield "encrypted.odt", packed.archive([*parts, ("META-INF/manifest.xml", (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry '
        'm:full-path="content.xml"><m:encryption-data/></m:file-entry></m:manifest>'))],
        ["mimetype"]), REFUSED
    yield "a-sheet.odt", packed.archive([
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), *parts[1:]],
        ["mimetype"]), EITHER
    yield "wrong-type.odt", packed.archive([("mimetype", "text/plain"), *parts[1:]]), READ
    yield "nested-notes.odt", packed.archive(with_part(parts, "content.xml", content.replace(
        "<text:note-body>", "<text:note-body>" + "<text:note><text:note-body>" * 50).replace(
            "</text:note-body>", "</text:note-body>" + "</text:note></text:note-body>" * 50)),
        ["mimetype"]), EITHER
    yield "columns.odt", packed.archive(with_part(parts, "content.xml", content.replace(
        'repeated="2"', 'repeated="99999999999999999999"')), ["mimetype"]), READ
    yield "many-spaces.odt", packed.archive(with_part(parts, "content.xml", content.replace(
        "<text:p>", '<text:p><text:s text:c="2000000000"/>')), ["mimetype"]), READ
    yield "hidden-all.odt", packed.archive(with_part(parts, "content.xml", content.replace(
        'family="text"><style:text-properties', 'family="paragraph"><style:text-properties').replace(
            "<text:p>", '<text:p text:style-name="T9">')), ["mimetype"]), READ


def books():
    text = packed.chapter("x", f"<p>{hostile.PROSE * 5}</p>")
    yield "no-container.epub", packed.archive([("mimetype", "application/epub+zip")] * 1 + [
        ("x", "y" * 100)], ["mimetype"]), REFUSED
    yield "no-package.epub", book({"a.xhtml": text}, container=packed.CONTAINER.replace(
        "OEBPS/book.opf", "OEBPS/other.opf")), REFUSED
    yield "outside-package.epub", book({"a.xhtml": text}, container=packed.CONTAINER.replace(
        "OEBPS/book.opf", "../../etc/passwd")), REFUSED
    yield "no-spine.epub", book({"a.xhtml": text}, spine=[]), REFUSED
    yield "spine-of-nothing.epub", book({"a.xhtml": text}, spine=[("none", "")] * 1000), REFUSED
    yield "same-chapter.epub", book({"a.xhtml": text * 100}, spine=[("i0", "")] * 20000), REFUSED
    yield "outside-chapter.epub", book({"../../../../../etc/passwd": text, "a.xhtml": text}), READ
    yield "absolute-chapter.epub", book({"/etc/passwd": text, "a.xhtml": text}), READ
    yield "missing-chapter.epub", book({"a.xhtml": text}, more=[]).replace(b"a.xhtml", b"b.xhtml", 1), \
        EITHER
    yield "codes.epub", book({"%41%zz%00%2e%2e%2f.xhtml": text, "a.xhtml": text}), READ
    yield "locked.epub", book({"a.xhtml": text}, more=[("META-INF/encryption.xml", (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        'xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData><e:EncryptionMethod '
        'Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></e:EncryptedData></encryption>'))]), \
        REFUSED
    yield "hidden-fonts.epub", book({"a.xhtml": text}, more=[("META-INF/encryption.xml", (
        '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptionMethod '
        'Algorithm="http://www.idpf.org/2008/embedding"/></encryption>'))]), READ
    yield "big-chapter.epub", book({"a.xhtml": " " * (24 << 20)}), REFUSED
    yield "open-chapter.epub", book({"a.xhtml": "<html><body><nav><p>" * 500, "b.xhtml": text}), READ
    yield "noise.epub", book({"a.xhtml": hostile.noise(50000, 7), "b.xhtml": text}), READ
    yield "utf16.epub", book({"a.xhtml": text.encode("utf-16")}), READ
    yield "no-head.epub", book({"a.xhtml": "<p>" + hostile.PROSE + "<head>" * 20000}), READ


# ---- PDF --------------------------------------------------------------------------------------------


def page_of(content, catalog=b"", tree=b"", page=b"", more=()):
    """One page; what is given is put into its dictionaries."""
    fonts = packed.pdf_fonts(1000)
    return packed.pdf_file([
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] %s >>" % tree,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources "
        b"<< /Font << /F1 7 0 R >> /XObject << /X 5 0 R >> >> %s >>" % page,
        content, *(more or [b"null", b"null"]), *fonts])


def shown(text):
    return packed.pdf_stream(b"BT /F1 10 Tf 72 700 Td (%s) Tj ET" % text.encode())


def printed():
    text = shown(hostile.PROSE)
    good = packed.pdf("en")
    form = (b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] "
            b"/Resources << /XObject << /X 5 0 R >> /Font << /F1 7 0 R >> >>")
    yield "only-header.pdf", b"%PDF-1.7\n", REFUSED
    yield "only-end.pdf", b"%PDF-1.7\nstartxref\n9\n%%EOF\n", REFUSED
    yield "noise.pdf", b"%PDF-1.4\n" + hostile.noise(100000, 8), REFUSED
    yield "no-table.pdf", good[:good.rindex(b"xref\n0")] + b"trailer << /Root 1 0 R >>", EITHER
    yield "wrong-start.pdf", good.replace(b"startxref\n", b"startxref\n999999999999999999"), EITHER
    yield "start-in-itself.pdf", good[:good.rindex(b"startxref")] + b"startxref\n0\n%%EOF", EITHER
    yield "previous-cycle.pdf", good.replace(b"trailer\n<<", b"trailer\n<< /Prev %d" %
                                             good.rindex(b"xref\n0 ")), EITHER
    yield "no-root.pdf", good.replace(b"/Root 1 0 R", b"/Root 999 0 R"), REFUSED
    yield "root-is-page.pdf", good.replace(b"/Root 1 0 R", b"/Root 14 0 R"), REFUSED
    yield "huge-size.pdf", good.replace(b"/Size ", b"/Size 2147483647"), EITHER
    yield "tree-cycle.pdf", page_of(text, tree=b"/Kids [2 0 R 2 0 R 3 0 R]"), EITHER
    yield "own-parent.pdf", page_of(text, tree=b"/Parent 2 0 R"), EITHER
    yield "huge-count.pdf", page_of(text, tree=b"/Count 2147483647").replace(b"/Count 1", b""), EITHER
    yield "negative-count.pdf", page_of(text).replace(b"/Count 1", b"/Count -9"), EITHER
    yield "no-kids.pdf", page_of(text).replace(b"/Kids [3 0 R]", b"/Kids 7"), REFUSED
    yield "many-kids.pdf", page_of(text).replace(b"[3 0 R]", b"[" + b"3 0 R " * 50000 + b"]"), EITHER
    yield "deep-kids.pdf", deep_tree(text), EITHER
    yield "form-cycle.pdf", page_of(packed.pdf_stream(b"/X Do BT /F1 9 Tf (One. Two.) Tj ET"), more=[
        packed.pdf_stream(b"/X Do /X Do", form), b"null"]), EITHER
    yield "form-doubles.pdf", doubling(), EITHER
    yield "outline-cycle.pdf", page_of(text, catalog=b"/Outlines 5 0 R", more=[
        b"<< /First 6 0 R /Last 6 0 R /Count 1 >>",
        b"<< /Title (One) /Parent 5 0 R /Next 6 0 R /First 6 0 R >>"]), EITHER
    yield "endless-length.pdf", page_of(text.replace(b"/Length ", b"/Length 99999999999")), EITHER
    yield "length-of-itself.pdf", page_of(b"<< /Length 4 0 R >>\nstream\nBT\nendstream"), EITHER
    yield "unknown-filter.pdf", page_of(text.replace(b"FlateDecode", b"NoneDecode")), EITHER
    yield "many-filters.pdf", page_of(b"<< /Length 9 /Filter [" + b"/FlateDecode " * 50000 +
                                      b"] >>\nstream\n123456789\nendstream"), EITHER
    yield "bomb.pdf", page_of(packed.pdf_stream(b"BT /F1 1 Tf (a. ) Tj ET\n" * 500000)), EITHER
    twice = zipped_twice(400 << 20)
    yield "bomb-of-bombs.pdf", page_of(b"<< /Filter [/FlateDecode /FlateDecode] /Length %d >>\n"
                                       b"stream\n" % len(twice) + twice + b"\nendstream"), EITHER
    yield "bad-flate.pdf", page_of(b"<< /Length 2000 /Filter /FlateDecode >>\nstream\nx\x9c" +
                                   hostile.noise(2000, 9) + b"\nendstream"), EITHER
    yield "deep-arrays.pdf", page_of(text, page=b"/A " + b"[" * 100000), EITHER
    yield "deep-dictionaries.pdf", page_of(text, page=b"/A " + b"<< /A " * 100000), EITHER
    yield "deep-operands.pdf", page_of(packed.pdf_stream(b"[" * 100000 + b"BT ET")), EITHER
    yield "huge-numbers.pdf", page_of(packed.pdf_stream(
        b"BT /F1 1e38 Tf 1e38 -1e38 Td (One two. Three.) Tj /F1 1e-38 Tf 99999999999999999999 0 Td "
        b"(One two.) Tj ET")), EITHER
    yield "huge-box.pdf", page_of(text, page=b"/Rotate 45").replace(
        b"[0 0 612 792]", b"[-1e30 1e30 1e300 nan]"), EITHER
    yield "far-text.pdf", page_of(packed.pdf_stream(b"".join(
        b"BT /F1 9 Tf 1 0 0 1 %d %d Tm (Word here.) Tj ET\n" % (i * 7919 % 600, i * 104729 % 780)
        for i in range(20000)))), EITHER
    yield "many-lines.pdf", page_of(packed.pdf_stream(b"BT /F1 0.01 Tf 0.011 TL\n" +
                                                      b"(A b.) Tj T*\n" * 100000 + b"ET")), EITHER
    yield "encrypted.pdf", good.replace(
        b"trailer\n<<", b"trailer\n<< /ID [<00><00>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length "
        b"128 /P -44 /O <" + b"11" * 32 + b"> /U <" + b"22" * 32 + b"> >>"), REFUSED
    yield "unknown-lock.pdf", good.replace(
        b"trailer\n<<", b"trailer\n<< /Encrypt << /Filter /Own /V 99 >>"), REFUSED
    yield "map-cycle.pdf", good.replace(b"/ToUnicode 12 0 R", b"/ToUnicode 10 0 R"), EITHER
    yield "font-cycle.pdf", good.replace(b"/DescendantFonts [11 0 R]", b"/DescendantFonts [10 0 R]"), \
        EITHER
    yield "no-text.pdf", page_of(packed.pdf_stream(b"0 0 100 100 re f")), REFUSED
    yield "script.pdf", page_of(text, catalog=b"/OpenAction << /S /JavaScript /JS (while (1) {}) >>"), \
        READ
    yield "a-program.pdf", page_of(text, catalog=b"/OpenAction << /S /Launch /F (/bin/sh) >>"), READ
    yield "escapes.pdf", page_of(packed.pdf_stream(
        b"BT /F1 9 Tf 72 700 Td (\x1b[31mThe ferry crosses.\x07 Nobody waits for it \x9b in winter.) "
        b"Tj ET")), EITHER


def zipped_twice(size):
    packer, out = zlib.compressobj(9), bytearray()
    for _ in range(size >> 20):
        out += packer.compress(b" " * (1 << 20))
    return zlib.compress(bytes(out + packer.flush()), 9)


def deep_tree(text):
    """Pages within pages, a thousand deep."""
    fonts = packed.pdf_fonts(1000)
    nodes = [b"<< /Type /Pages /Count 1 /Kids [%d 0 R] >>" % (i + 15) for i in range(1000)]
    return packed.pdf_file([b"<< /Type /Catalog /Pages 14 0 R >>", *[b"null"] * 5, *fonts, *nodes,
                            b"<< /Type /Page /MediaBox [0 0 612 792] /Contents 1015 0 R /Resources "
                            b"<< /Font << /F1 7 0 R >> >> >>", text])


def doubling():
    """Forms that show the next one twice: a text 2^30 times."""
    fonts, objects = packed.pdf_fonts(1000), []
    for i in range(30):
        objects.append(packed.pdf_stream(b"/X Do /X Do", b"/Type /XObject /Subtype /Form /BBox "
                                         b"[0 0 612 792] /Resources << /XObject << /X %d 0 R >> >>" %
                                         (i + 15)))
    objects.append(packed.pdf_stream(b"BT /F1 9 Tf (One word. ) Tj ET",
                                     b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources "
                                     b"<< /Font << /F1 7 0 R >> >>"))
    return packed.pdf_file([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources "
        b"<< /XObject << /X 14 0 R >> >> >>", packed.pdf_stream(b"/X Do"), *[b"null"] * 2, *fonts,
        *objects])


# ---- cut, and with single bits turned ------------------------------------------------------------


def mutants(every):
    """(name, data) of damaged copies of good files, the same in every run."""
    draw = random.Random(11)
    for form, maker in packed.MAKERS.items():
        good = maker("en")
        edge = [*range(min(EDGE, len(good))), *range(max(EDGE, len(good) - EDGE), len(good))]
        for at in edge if every else sorted(draw.sample(range(len(good)), CUTS)):
            yield f"cut-{at}.{form}", good[:at]
        turns = [8 * at + bit for at in edge for bit in range(8)]
        for turn in turns if every else draw.sample(turns, TURNS):
            data = bytearray(good)
            data[turn // 8] ^= 1 << turn % 8
            yield f"bit-{turn}.{form}", bytes(data)


def main():
    program, every = sys.argv[1], "--all" in sys.argv
    troubles, cases, count = [], 0, 0
    told = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE).stdout.decode()
    with tempfile.TemporaryDirectory() as folder:
        def judge(name, data, statuses):
            path = pathlib.Path(folder) / name
            path.write_bytes(data)
            trouble = hostile.judge(program, name, path, statuses)
            path.unlink()
            if trouble:
                troubles.append(trouble)
                print("not ok " + trouble, flush=True)

        # One at a time: what this process has counts as memory of what it starts.
        for part in (archives, markup, offices, books, printed):
            for name, data, statuses in part():
                cases += 1
                judge(name, data, REFUSED if "built without" in told else statuses)
        for name, data in mutants(every):
            count += 1
            judge(name, data, EITHER)
    print(f"{cases} files, {count} mutants, {len(troubles)} troubles")
    return 1 if troubles or cases < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
