"""The site of the documents builds without a warning, and needs no other host to be read.

Not here: whether links lead somewhere in the checkout (`tests.test_docs`). Building checks those of the site.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
FETCHED = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)\"""")
"""What a browser loads by itself to show a page."""
DEFINITION = re.compile(r'href="([^"]+)#pipeline\.roles\.bundle\.Bundle\.step"')


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_site_builds_without_a_warning_and_no_page_fetches_from_another_host(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    outcome = subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    pages = {page: page.read_text() for page in (tmp_path / "site").rglob("*.html") if page.name != "404.html"}
    modules = [file for file in (CHECKOUT / "pipeline").rglob("*.py") if file.read_text().strip()]
    for file in [*modules, *(CHECKOUT / "docs").rglob("[0-9a-z]*.md")]:
        shown = file.relative_to(CHECKOUT).with_suffix(".py.html" if file.suffix == ".py" else ".html")
        assert tmp_path / "site" / shown in pages
    for page, text in pages.items():
        fetched = ["".join(match) for match in FETCHED.findall(text)]
        assert fetched
        assert [url for url in fetched if "//" in url] == [], page
        assert [url for url in fetched if not url.startswith("data:") and not (page.parent / url).exists()] == [], page
    (target,) = set(DEFINITION.findall(pages[tmp_path / "site" / "docs" / "dqn_on_one_page.html"]))
    assert 'id="pipeline.roles.bundle.Bundle.step"' in pages[(tmp_path / "site" / "docs" / target).resolve()]
