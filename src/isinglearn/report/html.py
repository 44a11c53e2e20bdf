"""A record to one HTML page that needs nothing else: no script, no file, no network."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from isinglearn.problem.exports.files import replacing
from isinglearn.report.headline import headline
from isinglearn.report.markup import escaped
from isinglearn.report.pictures import PICTURES
from isinglearn.report.sections import described, sections
from isinglearn.report.stored import Record, check_record
from isinglearn.report.style import STYLE


def write_report(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as one self-contained HTML page, whole or not at all."""
    page = page_of(record).encode()
    with replacing(Path(path)) as file:
        file.write(page)


def page_of(record: Record) -> str:
    """Turn a record into the text of its page."""
    check_record(record, "record")
    parts = sections(record)
    title = escaped(record["title"])
    links = "".join(f'<a href="#{key}">{escaped(name)}</a>' for key, name, _ in parts)
    body = "\n".join(
        f'<section id="{key}">\n<h2>{escaped(name)}</h2>\n{content}{_pictures(key, record)}\n</section>'
        for key, name, content in parts
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<header>
<p class="soft">isinglearn report</p>
<h1>{title}</h1>
{headline(record)}
<nav>{links}</nav>
</header>
{body}
</main>
</body>
</html>
"""


def _pictures(section: str, record: Record) -> str:
    """Every picture of a section that the record has data for, inside the page."""
    figures = []
    for key, picture in PICTURES.items():
        data = picture.draw(record) if picture.section == section else None
        if data is None:
            continue
        source = base64.b64encode(data).decode()
        alt = escaped(f"{picture.title}: {described(key, record)}")
        figures.append(
            f'<figure id="picture-{key}">\n<h3>{escaped(picture.title)}</h3>\n'
            f'<img alt="{alt}" src="data:image/png;base64,{source}">\n'
            f"<figcaption>{escaped(picture.caption)}</figcaption>\n</figure>"
        )
    return '\n<div class="pictures">\n' + "\n".join(figures) + "\n</div>" if figures else ""
