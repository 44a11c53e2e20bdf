"""Text to HTML: everything that comes from outside is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

# Characters beyond which a cell is a sentence.
_LONG = 40


def escaped(value: object) -> str:
    """Turn anything into text that a browser shows as it is, in content and in attributes."""
    return html.escape(str(value), quote=True)


def shown(value: Any) -> str:
    """Turn a value into what a reader sees: few digits, thousands apart, a dash for what is not known."""
    match value:
        case None | "":
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}".replace(",", "\u202f")
        case float():
            return f"{value:.6g}"
    return str(value)


def percent(share: float | None) -> str:
    """Turn a share into percent; 100 % is written only for all."""
    if share is None:
        return "–"
    text = f"{share:.1%}"
    return "99.9%" if text == "100.0%" and share < 1 else text


def paragraph(text: str, kind: str = "") -> str:
    """Turn plain text into a paragraph; no text into nothing."""
    if not text:
        return ""
    return f'<p class="{kind}">{escaped(text)}</p>' if kind else f"<p>{escaped(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Turn rows of values into a table that scrolls by itself where the page is narrow."""
    rows = list(rows)
    # A column of numbers is set flush right, its head too.
    numeric = [
        bool(rows) and all(isinstance(row[at], int | float) or row[at] is None for row in rows)
        for at in range(len(head))
    ]
    # Long text gets room, else a narrow page sets one word per line.
    prose = [any(len(str(row[at])) > _LONG for row in rows) for at in range(len(head))]
    kinds = [
        ' class="number"' if number else ' class="prose"' if long else ""
        for number, long in zip(numeric, prose, strict=True)
    ]
    heads = "".join(
        f'<th scope="col"{kind}>{escaped(name)}</th>'
        for name, kind in zip(head, kinds, strict=True)
    )
    lines = [
        "<tr>"
        + "".join(
            f"<td{kind}>{escaped(shown(value))}</td>"
            for value, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in rows
    ]
    return (
        '<div class="scroll"><table>\n<thead><tr>'
        + heads
        + "</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """Turn names and values into a table of two columns; what is not known is left out."""
    lines = [
        f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(shown(value))}</td></tr>'
        for name, value in rows
        if value is not None and value != ""
    ]
    return '<div class="scroll"><table><tbody>\n' + "\n".join(lines) + "\n</tbody></table></div>"
