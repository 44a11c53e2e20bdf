"""A real browser, where there is one, that looks at pages."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# A frame of the width that is wanted, since windows have a least one, and what a script sees in it.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><body><script>
function look(frame) {{
  const page = frame.contentDocument, root = page.documentElement;
  document.body.dataset.seen = JSON.stringify({{
    width: root.clientWidth,
    needed: root.scrollWidth,
    pictures: Array.from(page.images, image => image.naturalWidth),
    text: page.body.innerText.length
  }});
}}
</script><iframe style="border: 0; width: {width}px; height: 900px" onload="look(this)"
srcdoc="{page}"></iframe></body>"""


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page: widths in pixels, those of its pictures, letters, complaints."""

    width: int
    needed: int
    pictures: list[int]
    text: int
    complaints: list[str]


@dataclass(frozen=True)
class Browser:
    """Runs a browser on pages, each time with nothing remembered."""

    program: str
    room: Path

    def _run(self, page: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Open a page; whatever it does wrong comes as a CONSOLE line."""
        path, profile = self.room / "page.html", self.room / "profile"
        path.write_text(page, encoding="utf-8")
        shutil.rmtree(profile, ignore_errors=True)
        command = [
            self.program,
            "--headless",
            # A container has neither the rights for a sandbox nor a large /dev/shm.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            *options,
            path.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done

    def look(self, page: str, width: int) -> Seen:
        """Turn the text of a page into what is seen of it in a frame of this width."""
        done = self._run(FRAME.format(width=width, page=html.escape(page)), "--dump-dom")
        found = re.search(r'data-seen="([^"]*)"', done.stdout)
        assert found is not None, done.stderr
        complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return Seen(**json.loads(html.unescape(found[1])), complaints=complaints)

    def shot(self, page: str, width: int, height: int) -> np.ndarray:
        """Turn the text of a page into its picture, shape (height, width, 3), from 0 to 1."""
        from matplotlib.image import imread

        path = self.room / "shot.png"
        path.unlink(missing_ok=True)
        self._run(page, f"--window-size={width},{height}", f"--screenshot={path}")
        return imread(path)[..., :3]


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no browser here: " + ", ".join(NAMES))
    return Browser(program, tmp_path)
