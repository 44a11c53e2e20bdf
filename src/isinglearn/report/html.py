"""A record to one HTML page that needs nothing else: no script, no file, no network."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from isinglearn.problem.exports.files import replacing
from isinglearn.report import sections
from isinglearn.report.markup import escaped
from isinglearn.report.pictures import PICTURES
from isinglearn.report.stored import Record, check_record

# White behind pictures in the dark as well: they are drawn for paper.
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6472; --page: #fbfbfa; --card: #fff;
  --line: #dfe3e8; --accent: #2166ac; --good: #1b7f4b; --bad: #b3401d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a2acb9; --page: #14181e;
  --card: #1c222b; --line: #343d49; --accent: #7db8ee; --good: #5fcf96; --bad: #ff9a76; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 60rem; margin: 0 auto; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); }
p { margin: .5rem 0; }
a { color: var(--accent); }
.soft, figcaption { color: var(--soft); }
.soft { font-size: .92rem; }
nav { margin: .8rem 0; font-size: .92rem; }
nav a { margin-right: .9rem; display: inline-block; }
.cards { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1rem 0; }
.card { flex: 1 1 8.5rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: .6rem .8rem; }
.card b { display: block; font-size: 1.3rem; }
.verdict { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid
  var(--accent); border-radius: .4rem; padding: .6rem .9rem; }
.verdict.good { border-left-color: var(--good); }
.verdict.bad { border-left-color: var(--bad); }
.scroll { overflow-x: auto; margin: .6rem 0 1.2rem; }
table { border-collapse: collapse; min-width: min(100%, 26rem); font-size: .94rem;
  overflow-wrap: normal; }
th, td { text-align: left; padding: .35rem 1.4rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; }
td:last-child { min-width: 6rem; }
td.prose { min-width: 14rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .7rem .9rem; overflow-x: auto; font-size: .86rem; }
code { overflow-wrap: anywhere; }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .8rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: .3rem; }
figure h3 { font-size: 1rem; margin: 0 0 .5rem; }
figcaption { font-size: .92rem; margin-top: .5rem; }
@media print { nav { display: none; } figure { break-inside: avoid; } }
"""


def write_report(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as one self-contained HTML page, whole or not at all."""
    page = page_of(record).encode()
    with replacing(Path(path)) as file:
        file.write(page)


def page_of(record: Record) -> str:
    """Turn a record into the text of its page."""
    check_record(record, "record")
    parts = [*sections.before(record), ("pictures", "Pictures", _pictures(record))]
    parts.append(("repeat", "How to repeat it", sections.repeat(record)))
    title = escaped(record["title"])
    links = "".join(f'<a href="#{key}">{escaped(name)}</a>' for key, name, _ in parts)
    body = "\n".join(
        f'<section id="{key}">\n<h2>{escaped(name)}</h2>\n{content}\n</section>'
        for key, name, content in parts
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header>
<p class="soft">isinglearn report</p>
<h1>{title}</h1>
{sections.headline(record)}
<nav>{links}</nav>
</header>
{body}
</main>
</body>
</html>
"""


def _pictures(record: Record) -> str:
    """Every picture that the record has data for, inside the page."""
    figures = []
    for key, picture in PICTURES.items():
        data = picture.draw(record)
        if data is None:
            continue
        source = base64.b64encode(data).decode()
        alt = escaped(f"{picture.title}: {sections.described(key, record)}")
        figures.append(
            f'<figure id="picture-{key}">\n<h3>{escaped(picture.title)}</h3>\n'
            f'<img alt="{alt}" src="data:image/png;base64,{source}">\n'
            f"<figcaption>{escaped(picture.caption)}</figcaption>\n</figure>"
        )
    if not figures:
        return "<p>There is nothing to draw: no network was found.</p>"
    return '<div class="pictures">\n' + "\n".join(figures) + "\n</div>"
