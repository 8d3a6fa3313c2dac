# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The article of a language (texts.json) as the documents that offices, books and printers have, made
anew by each test: docx, odt, epub, pdf. Each has, beside the article, what no summary may have:
"hidden", contents, a table, a quotation, notes, heads and feet of pages.
"""

import html
import io
import textwrap
import zipfile
import zlib

import make

escape = html.escape


def archive(parts, stored=()):
    """A ZIP file of (name, text or bytes); those in `stored` are not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts:
            packed.writestr(zipfile.ZipInfo(name), data,
                            zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return out.getvalue()


# ---- Word ------------------------------------------------------------------------------------

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
RELATIONS = (XML + '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
             'relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/'
             'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
             "</Relationships>")
WORD_TYPES = (XML + '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
              '<Default Extension="xml" ContentType="application/xml"/></Types>')
WORD_STYLES = XML + f"<w:styles {W}>" + "".join(
    f'<w:style w:type="paragraph" w:styleId="{ident}"><w:name w:val="{name}"/>{more}</w:style>'
    for ident, name, more in [
        ("Titel", "Title", ""), ("berschrift1", "heading 1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>'),
        ("Mein", "My heading", '<w:basedOn w:val="berschrift1"/>'), ("Verz1", "toc 1", ""),
        ("Zitat", "Quote", ""), ("Liste", "List Paragraph", ""), ("Quelltext", "Source Code", ""),
        ("Text", "Body Text", "")]) + "</w:styles>"


def word_run(text, properties=""):
    return f'<w:r>{properties}<w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def word_paragraph(runs, style="", more=""):
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr>{runs}</w:p>"


def word_prose(text):
    """Runs with a bold middle, what was deleted and hidden, a break of the page, a note's mark."""
    a, b = len(text) // 3, len(text) // 2
    return (word_run(text[:a]) + word_run(text[a:b], "<w:rPr><w:b/></w:rPr>") +
            '<w:del w:id="1"><w:r><w:delText>This is hidden.</w:delText></w:r></w:del>' +
            word_run("This is hidden too.", "<w:rPr><w:vanish/></w:rPr>") +
            f'<w:moveFrom w:id="2">{word_run("It was hidden elsewhere.")}</w:moveFrom>'
            f'<w:ins w:id="3">{word_run(text[b:])}</w:ins>'
            '<w:r><w:lastRenderedPageBreak/><w:footnoteReference w:id="2"/></w:r>')


def word_table(rows):
    cells = "".join("<w:tr>" + "".join(f"<w:tc>{word_paragraph(word_run(cell))}</w:tc>"
                                       for cell in row) + "</w:tr>" for row in rows)
    return f"<w:tbl><w:tblGrid>{'<w:gridCol/>' * len(rows[0])}</w:tblGrid>{cells}</w:tbl>"


def docx_parts(lang):
    text = make.TEXTS[lang]
    body = [word_paragraph(word_run(text["title"]), "Titel")]
    body += [word_paragraph(word_run(f"{head}\t{i + 2}"), "Verz1")
             for i, (head, _) in enumerate(text["article"])]
    for i, (head, paragraphs) in enumerate(text["article"]):
        body.append(word_paragraph(word_run(head), "Mein" if i else "berschrift1"))
        body += [word_paragraph(word_prose(paragraph), "Text" if i else "") for paragraph in paragraphs]
        if i == 0:
            body.append(word_paragraph(word_run(make.quoted(lang)), "Zitat"))
            body.append(f'<w:p><mc:AlternateContent {MC}><mc:Choice Requires="wps"><w:txbxContent>'
                        f'{word_paragraph(word_run("A hidden box is at its best here."))}'
                        "</w:txbxContent></mc:Choice><mc:Fallback><w:r><w:t>It is hidden.</w:t></w:r>"
                        "</mc:Fallback></mc:AlternateContent></w:p>")
        if i == 1:
            body.append(word_table([["It is hidden.", "Nothing is."], ["It is hidden.", "2"]]))
            body.append(word_paragraph(word_run("hidden = 1;"), "Quelltext"))
    listed = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    body += [word_paragraph(word_run(item), "Liste", listed) for item in text["items"]]
    return [
        ("[Content_Types].xml", WORD_TYPES), ("_rels/.rels", RELATIONS),
        ("word/document.xml", XML + f'<w:document {W} {MC}><w:body>{"".join(body)}</w:body></w:document>'),
        ("word/styles.xml", WORD_STYLES),
        ("word/footnotes.xml", XML + f'<w:footnotes {W}><w:footnote w:type="separator" w:id="0">'
         f'{word_paragraph(word_run("It is hidden."))}</w:footnote><w:footnote w:id="2">'
         f'{word_paragraph(word_run("This note is hidden at its best."))}</w:footnote></w:footnotes>'),
        ("word/header1.xml", XML + f"<w:hdr {W}>{word_paragraph(word_run('A hidden head.'))}</w:hdr>")]


def docx(lang):
    return archive(docx_parts(lang))


# ---- OpenDocument ------------------------------------------------------------------------------

SPACES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
                  for name in ("office", "style", "text", "table")) + \
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
ODT_TYPE = "application/vnd.oasis.opendocument.text"
ODT_STYLES = (XML + f'<office:document-styles {SPACES} office:version="1.2"><office:styles>'
              '<style:style style:name="Title" style:family="paragraph"/>'
              '<style:style style:name="Quotations" style:family="paragraph"/>'
              '<style:style style:name="Preformatted_20_Text" style:family="paragraph"/>'
              '</office:styles><office:master-styles><style:master-page><style:header>'
              "<text:p>A hidden head.</text:p></style:header></style:master-page>"
              "</office:master-styles></office:document-styles>")


def odt_prose(text):
    a, b = len(text) // 3, len(text) // 2
    return (f'{escape(text[:a])}<text:span text:style-name="T1">{escape(text[a:b])}</text:span>'
            '<office:annotation><text:p>This is hidden.</text:p></office:annotation>'
            '<text:span text:style-name="T9">This is hidden too.</text:span>'
            '<text:note text:note-class="footnote"><text:note-citation>7</text:note-citation>'
            "<text:note-body><text:p>This note is hidden at its best.</text:p></text:note-body>"
            f"</text:note>{escape(text[b:])}")


def odt_parts(lang):
    text = make.TEXTS[lang]
    body = [f'<text:p text:style-name="P1">{escape(text["title"])}</text:p>',
            "<text:table-of-content><text:index-body>" +
            "".join(f"<text:p>{escape(head)}<text:tab/>{i}</text:p>"
                    for i, (head, _) in enumerate(text["article"])) +
            "</text:index-body></text:table-of-content>",
            "<text:tracked-changes><text:p>It is hidden.</text:p></text:tracked-changes>"]
    for i, (head, paragraphs) in enumerate(text["article"]):
        body.append(f'<text:h text:outline-level="1">{escape(head)}</text:h>')
        body += [f"<text:p>\n  {odt_prose(paragraph)}\n</text:p>" for paragraph in paragraphs]
        if i == 0:
            body.append(f'<text:p text:style-name="P2">{escape(make.quoted(lang))}</text:p>')
            body.append("<text:p><draw:frame><draw:text-box><text:p>A hidden box is at its best."
                        "</text:p></draw:text-box></draw:frame></text:p>")
        if i == 1:
            body.append('<table:table><table:table-column table:number-columns-repeated="2"/>' +
                        "<table:table-row>" + "<table:table-cell><text:p>It is hidden.</text:p>"
                        "</table:table-cell>" * 2 + "</table:table-row></table:table>")
            body.append('<text:p text:style-name="P3">hidden = 1;</text:p>')
    body.append("<text:list>" + "".join(f"<text:list-item><text:p>{escape(item)}</text:p>"
                                        "</text:list-item>" for item in text["items"]) + "</text:list>")
    named = "".join(f'<style:style style:name="{name}" style:family="paragraph" '
                    f'style:parent-style-name="{parent}"/>' for name, parent in
                    (("P1", "Title"), ("P2", "Quotations"), ("P3", "Preformatted_20_Text")))
    named += ('<style:style style:name="T9" style:family="text">'
              '<style:text-properties text:display="none"/></style:style>')
    return [("mimetype", ODT_TYPE),
            ("content.xml", XML + f"<office:document-content {SPACES}><office:automatic-styles>{named}"
             f'</office:automatic-styles><office:body><office:text>{"".join(body)}</office:text>'
             "</office:body></office:document-content>"),
            ("styles.xml", ODT_STYLES)]


def odt(lang):
    return archive(odt_parts(lang), ["mimetype"])


# ---- books ----------------------------------------------------------------------------------------

CONTAINER = ('<?xml version="1.0"?><container version="1.0" '
             'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
             '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
             "</rootfiles></container>")


def package(title, items, spine):
    """Items: (id, href, more)."""
    return ('<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>' + escape(title) +
            "</dc:title></metadata><manifest>" +
            "".join(f'<item id="{ident}" href="{href}" media-type="application/xhtml+xml" {more}/>'
                    for ident, href, more in items) + "</manifest><spine>" +
            "".join(f'<itemref idref="{ident}" {more}/>' for ident, more in spine) +
            "</spine></package>")


def chapter(title, body):
    return ('<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head>'
            f"<title>{escape(title)}</title><style>p {{ }}</style></head><body>{body}</body></html>")


def epub_parts(lang):
    text = make.TEXTS[lang]
    parts, items, spine = [], [("nav", "nav.xhtml", 'properties="nav"')], [("nav", "")]
    for i, (head, paragraphs) in reversed(list(enumerate(text["article"]))):
        body = f"<h1>{escape(head)}</h1>" + "".join(f"<p>{escape(one)}</p>" for one in paragraphs)
        if i == 0:
            body += f"<blockquote><p>{escape(make.quoted(lang))}</p></blockquote>"
        if i == 2:
            body += "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in text["items"]) + "</ul>"
        body += "<aside>This note is hidden at its best.</aside>"
        parts.append((f"OEBPS/text one/c{i}.xhtml", chapter(text["title"], body)))
        items.append((f"c{i}", f"text%20one/c{i}.xhtml", ""))
    items.append(("notes", "notes.xhtml", ""))
    spine += [(f"c{i}", "") for i in range(len(text["article"]))] + [("notes", 'linear="no"')]
    return [("mimetype", "application/epub+zip"), ("META-INF/container.xml", CONTAINER), *parts,
            ("OEBPS/notes.xhtml", chapter("Notes", "<p>These notes are hidden at their best.</p>")),
            ("OEBPS/nav.xhtml", chapter("Contents", "<p>It is hidden.</p>")),
            ("OEBPS/book.opf", package(text["title"], items, spine))]


def epub(lang):
    return archive(epub_parts(lang), ["mimetype"])


# ---- PDF ------------------------------------------------------------------------------------------

PLAIN, BOLD, MONO, WIDE = "F1", "F2", "F3", "F4"
LETTER = (612, 792)
WIDTH = {PLAIN: 0.43, BOLD: 0.5, MONO: 0.6}      # of a character of the mean, in sizes


def pdf_file(objects, root=1):
    """A file of the objects 1, 2, ...; `root` is the catalog."""
    out, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for i, body in enumerate(objects):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % (i + 1) + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out + b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" %
                 (len(objects) + 1, root, start))


def pdf_stream(data, entries=b""):
    packed = zlib.compress(data)
    return b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n" % (len(packed), entries) + packed + \
        b"\nendstream"


def pdf_string(text, wide):
    """Of two bytes a character, which are its UTF-16; or of Windows-1252."""
    return b"<" + text.encode("utf-16-be" if wide else "cp1252", "replace").hex().encode() + b">"


def pdf_fonts(wide):
    """Four fonts that no file has: names of the usual ones, and one whose codes are Unicode, with
    characters so many thousandths of its size wide."""
    names = ["Times-Roman", "Times-Bold", "Courier"]
    plain = [b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" %
             name.encode() for name in names]
    ranges = [b"".join(b"<%02x00> <%02xff> <%02x00>\n" % (i, i, i) for i in part)
              for part in (range(100), range(100, 200), range(200, 256))]
    cmap = (b"/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
            b"/CMapName /X def\n/CMapType 2 def\n"
            b"1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n" +
            b"".join(b"%d beginbfrange\n" % one.count(b"\n") + one + b"endbfrange\n"
                     for one in ranges) + b"endcmap\nend\nend\n")
    return [*plain, b"<< /Type /Font /Subtype /Type0 /BaseFont /Wide /Encoding /Identity-H "
            b"/DescendantFonts [11 0 R] /ToUnicode 12 0 R >>",
            b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Wide /DW %d /CIDSystemInfo "
            b"<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 13 0 R >>" %
            wide, pdf_stream(cmap),
            b"<< /Type /FontDescriptor /FontName /Wide /Flags 4 /FontBBox [0 0 1000 1000] "
            b"/ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>"]


def pdf_pages(pages, titles=(), wide=1000):
    """Pages of lines (x, y, font, size, text), y from the top; titles of the outline. Objects 1 to 6
    are the catalog, the pages, the outline, and places for two more; 7 to 13 are fonts."""
    first = 14
    kids = b" ".join(b"%d 0 R" % (first + 2 * i) for i in range(len(pages)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R" + (b" /Outlines 3 0 R" if titles else b"") + b" >>",
               b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), kids)]
    last = first + 2 * len(pages)
    objects.append(b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" %
                   (last, last + len(titles) - 1, len(titles)) if titles else b"null")
    objects += [b"null"] * 3 + pdf_fonts(wide)
    for i, lines in enumerate(pages):
        fonts = b" ".join(b"/F%d %d 0 R" % (k + 1, k + 7) for k in range(4))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
                       b"/Resources << /Font << %s >> >> >>" % (*LETTER, first + 2 * i + 1, fonts))
        text = b"".join(b"BT /%s %g Tf %g %g Td %s Tj ET\n" %
                        (font.encode(), size, x, LETTER[1] - y, pdf_string(one, font == WIDE))
                        for x, y, font, size, one in lines)
        objects.append(pdf_stream(text))
    for i, title in enumerate(titles):
        more = (b" /Prev %d 0 R" % (last + i - 1) if i else b"") + \
            (b" /Next %d 0 R" % (last + i + 1) if i + 1 < len(titles) else b"")
        objects.append(b"<< /Title <feff%s> /Parent 3 0 R /Dest [%d 0 R /Fit]%s >>" %
                       (title.encode("utf-16-be").hex().encode(), first, more))
    return pdf_file(objects)


class Printer:
    """Sets text in columns of pages, and breaks words, paragraphs, columns and pages."""

    def __init__(self, lang, columns=1, top=72, bottom=700):
        self.wide = lang in (*make.WIDE, "ru")
        self.lang, self.columns, self.top, self.bottom = lang, columns, top, bottom
        self.width = (LETTER[0] - 144 - 20 * (columns - 1)) / columns
        self.pages, self.column, self.y = [[]], 0, top

    def line(self, text, font, size, indent=0.0, step=1.2):
        if self.y + size * step > self.bottom:
            self.column, self.y = self.column + 1, self.top
            if self.column == self.columns:
                self.column = 0
                self.pages.append([])
        self.y += size * step
        x = 72 + self.column * (self.width + 20) + indent
        self.pages[-1].append((x, self.y, WIDE if self.wide else font, size, text))

    def paragraph(self, text, font=PLAIN, size=10.0, gap=0.0, indent=0.0, hang=0.0):
        """`indent` is of the first line, `hang` of the others, `gap` above it."""
        self.y += gap if self.y > self.top else 0
        room = int((self.width - max(indent, hang)) / size / (0.5 if self.lang == "ru" else 1.0 if self.wide else WIDTH[font]))
        if self.lang in make.WIDE:
            lines = [text[i:i + room] for i in range(0, len(text), room)]
        elif font == PLAIN:
            lines = make.hyphenated(text, room)
        else:
            lines = textwrap.wrap(text, room)
        for i, one in enumerate(lines):
            self.line(one, font, size, hang if i else indent)

    def page(self):
        self.pages.append([])
        self.column, self.y = 0, self.top

    def heads(self, head, foot):
        for i, page in enumerate(self.pages):
            font = WIDE if self.wide else PLAIN
            page.append((72, 760, font, 9.0, foot.format(n=i + 1)))
            page.insert(0, (72, 50, font, 9.0, head))


def pdf(lang, columns=1, outline=True, gap=6.0):
    """A title of 18 points, headings of 14 or, with an outline, bold ones of the text's size; notes
    at the foot of the first page; paragraphs with a gap, or with a first line that is set in."""
    text = make.TEXTS[lang]
    p = Printer(lang, columns, bottom=300 if columns == 1 else 260)
    p.paragraph(text["title"], BOLD, 18.0)
    for i, (head, _) in enumerate(text["article"]):
        p.paragraph(f"{head} {'' if p.wide else '. ' * 12}{i + 2}", PLAIN, gap=gap)
    if columns > 1:
        p.page()
    for i, (head, paragraphs) in enumerate(text["article"]):
        p.paragraph(f"{i + 1} {head}", BOLD, 10.0 if outline else 14.0, gap=14)
        for paragraph in paragraphs:
            p.paragraph(paragraph, gap=gap, indent=0 if gap else 12)
        if i == 1 and not p.wide:          # the font of those is no other one
            for row in ("hidden = 1;", "if (hidden) show(hidden);"):
                p.paragraph(row, MONO, gap=gap)
    for item in text["items"]:
        p.paragraph("\N{BULLET} " + item, gap=gap, hang=10)
    p.heads(text["title"], f"{text['page']} {{n}}")
    return pdf_pages(p.pages, [head for head, _ in text["article"]] if outline else (),
                     500 if lang == "ru" else 1000)


MAKERS = {"docx": docx, "odt": odt, "epub": epub, "pdf": pdf}
