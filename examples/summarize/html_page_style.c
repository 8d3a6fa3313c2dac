/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The style of the page, for phones, wide screens, dark rooms and paper. Nothing is told by colour
 * alone: sentences of the summary are marked by a line too, and bars by a mark above.
 */
#include "html_page.h"

#include <stddef.h>

const char *const page_style[] = {
    ":root{color-scheme:light dark;--ground:#fff;--ink:#1b1b1b;--soft:#555;--link:#0b57a4;"
    "--mark:#ffe8a3;--line:#8a5a00;--bar:#7d8896;--chosen:#b34700;--rule:#d5d9de;"
    "--l0:#dbe7f5;--l1:#a9c8e8;--l2:#6a9fd4;--l3:#2b6cb0;--l4:#0a2f5c}\n",
    "@media screen and (prefers-color-scheme:dark){:root{--ground:#16181c;--ink:#e8e8e8;"
    "--soft:#a8adb5;--link:#8ab8ff;--mark:#4a3a00;--line:#e0b23c;--bar:#7f8a99;--chosen:#ffb000;"
    "--rule:#3a3f47;--l0:#1f2f45;--l1:#2f5482;--l2:#4f86c6;--l3:#92bdee;--l4:#e6f1ff}}\n",
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:80rem;padding:1rem;background:var(--ground);color:var(--ink);"
    "font:1.05rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0}\n"
    "h2{font-size:1.15rem;margin:1.6rem 0 .5rem}\n"
    "h3{font-size:1.1rem;line-height:1.3;margin:1.5rem 0 .4rem}\n"
    "header p,small,figcaption,.x,.o,.k{color:var(--soft);font-size:.9rem}\n"
    "p{margin:.7rem 0}\n"
    "a{color:var(--link)}\n",
    "a:focus-visible,summary:focus-visible{outline:3px solid var(--chosen);outline-offset:2px}\n"
    ".skip{position:absolute;left:-99rem}\n"
    ".skip:focus{left:1rem;top:.5rem;padding:.5rem 1rem;background:var(--ground);z-index:1}\n",
    "#summary ol{padding-left:2.2rem}\n"
    "#summary li{margin:.7rem 0}\n"
    "#summary li>a{color:inherit;text-decoration:none}\n"
    "#summary li>a:hover{text-decoration:underline}\n"
    "#summary small{display:block}\n"
    "nav{border-top:1px solid var(--rule);border-bottom:1px solid var(--rule);padding:.5rem 0}\n"
    "nav ol{list-style:none;padding:0}\n"
    "nav li{padding:.2rem 0}\n"
    ".f{font-weight:bold}\n"
    "summary{cursor:pointer;padding:.2rem 0}\n",
    "p,li,h3,pre,blockquote{unicode-bidi:plaintext}\n"
    "article{max-width:44rem}\n"
    "article:focus{outline:none}\n"
    "article ul{padding-left:1.3rem}\n"
    ".n{list-style:none}\n"
    "pre{white-space:pre-wrap;font-size:.9rem;line-height:1.4}\n"
    "pre,.x{color:var(--soft);border-left:3px solid var(--rule);padding-left:.8rem}\n"
    "blockquote{margin:.7rem 0;border-left:3px solid var(--rule);padding-left:.8rem;"
    "color:var(--soft)}\n",
    "mark{background:var(--mark);color:inherit;box-shadow:inset 0 -2px var(--line)}\n"
    "mark a{color:inherit;text-decoration:none}\n"
    "mark,span[id],h2,h3{scroll-margin-top:5rem}\n"
    ":target{outline:3px solid var(--chosen);outline-offset:2px}\n"
    "#document:target,#summary a:target{outline-width:2px}\n"
    "i.g{font-style:normal;border-left:2px dashed var(--bar);margin-right:.3rem}\n"
    "i.g::after{content:\"segment \" attr(data-n);color:var(--soft);font-size:.75rem;"
    "padding-left:.25rem}\n"
    "p.o{text-align:center;border-top:1px dashed var(--bar)}\n"
    "i.o{font-style:normal}\n",
    "figure{margin:0;max-width:44rem}\n"
    ".strip{display:block;width:100%;height:6rem;border-bottom:1px solid var(--bar)}\n"
    ".b{fill:var(--bar)}\n"
    ".c{fill:var(--chosen)}\n"
    ".strip .g{stroke:var(--bar);stroke-dasharray:3 3;vector-effect:non-scaling-stroke}\n"
    ".strip a:hover rect,.strip a:focus rect{fill:var(--link)}\n"
    ".strip a:focus-visible rect{stroke:var(--link);stroke-width:4;"
    "vector-effect:non-scaling-stroke}\n",
    ".pattern{display:block;width:100%;max-width:30rem}\n"
    ".pattern path,.k path{fill:none;stroke-width:1;shape-rendering:crispEdges}\n"
    ".pattern text{fill:var(--soft)}\n"
    ".pattern .a{stroke:var(--bar);vector-effect:non-scaling-stroke}\n"
    ".pattern .m{fill:var(--chosen)}\n"
    "path.l0{stroke:var(--l0)}path.l1{stroke:var(--l1)}path.l2{stroke:var(--l2)}"
    "path.l3{stroke:var(--l3)}path.l4{stroke:var(--l4)}\n"
    ".k{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0}\n"
    ".k svg{width:1rem;height:1rem;vertical-align:-.15rem;border:1px solid var(--bar)}\n",
    "@media (min-width:64rem){main{display:grid;grid-template-columns:minmax(20rem,26rem) 1fr;"
    "gap:3rem}}\n"
    "@media screen and (min-width:64rem) and (min-height:30rem){.side{position:sticky;top:0;"
    "align-self:start;max-height:100vh;overflow-y:auto;padding-right:.5rem}}\n",
    "@media print{@page{margin:18mm}body{max-width:none;padding:0;font-size:10.5pt}"
    "main{display:block}.skip,nav{display:none}a{color:inherit}"
    "h2,h3{break-after:avoid}#summary li{break-inside:avoid}"
    "figure{display:inline-block;width:100%}"   /* a figure that is one line stays in one piece */
    "mark,svg,.k{print-color-adjust:exact}:target{outline:none}.pattern{max-width:12cm}}\n",
    NULL
};

const char page_style_hash[] = "FyuBOTIzpXkUFDdklziRAPIGfMyqx0fVlmtuUAjKsuM=";
