"""Text to HTML: everything that comes from outside is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

# Characters beyond which a value is a sentence, in a table and among facts.
_LONG, _WIDE = 40, 26


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
            return f"{value:.4g}"
    return str(value)


def counted(count: int, noun: str) -> str:
    """Turn a number and a noun into both, in the plural but for one."""
    return f"{shown(count)} {noun}{'' if count == 1 else 's'}"


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


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[int] = ()) -> str:
    """Turn rows of values into a table that scrolls by itself where the page is narrow.

    Columns of numbers, and those of the places ``numbers``, are set flush right.
    """
    rows, right = list(rows), set(numbers)
    kinds = [
        ' class="number"'
        if at in right or all(isinstance(row[at], int | float | None) for row in rows)
        # Long text gets room, else a narrow page sets one word per line.
        else ' class="prose"'
        if any(len(str(row[at])) > _LONG for row in rows)
        else ""
        for at in range(len(head))
    ]
    lines = [_row("td", kinds, map(shown, row)) for row in rows]
    return (
        '<div class="scroll"><table>\n<thead>'
        + _row("th", [f' scope="col"{kind}' for kind in kinds], head)
        + "</thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _row(tag: str, kinds: Iterable[str], cells: Iterable[str]) -> str:
    inner = "".join(
        f"<{tag}{kind}>{escaped(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
    )
    return f"<tr>{inner}</tr>"


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """Turn names and values into a grid of as many columns as fit; what is not known is left out."""
    items = [
        ("<div class='wide'>" if len(shown(value)) > _WIDE else "<div>")
        + f"<dt>{escaped(name)}</dt><dd>{escaped(shown(value))}</dd></div>"
        for name, value in rows
        if value is not None and value != ""
    ]
    return '<dl class="facts">\n' + "\n".join(items) + "\n</dl>"
