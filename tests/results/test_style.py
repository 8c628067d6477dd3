import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from pipeline.results.style import COLOURS, INK, STYLE, as_svg, inline_svg, save_figure, settle


@pytest.fixture
@matplotlib.rc_context(STYLE)
def figure() -> Figure:
    figure = Figure(figsize=(3.0, 2.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], "o-", color=COLOURS[0], label="a < b")
    axes.set_xlabel("hours")
    axes.legend()
    return figure


def test_the_same_settled_figure_is_the_same_file(figure: Figure) -> None:
    settle(figure)
    assert as_svg(figure) == as_svg(figure)
    assert "date" not in as_svg(figure).lower()


def test_text_stays_text_in_the_ink_of_the_style(figure: Figure) -> None:
    texts = [element for element in ElementTree.fromstring(as_svg(figure)).iter() if element.tag.endswith("}text")]
    assert {"hours", "a < b"} <= {element.text for element in texts}
    assert all(INK in element.get("style", "") for element in texts)


def test_inside_a_page_colours_are_the_pages_and_ids_its_own(figure: Figure) -> None:
    inline = inline_svg(as_svg(figure), "pong", 'scores of "Pong"')
    ElementTree.fromstring(inline)
    assert inline.startswith('<svg role="img" aria-label="scores of &quot;Pong&quot;"')
    assert "var(--series-0)" in inline and "var(--ink)" in inline and "var(--paper)" in inline
    assert not re.search(r"#[0-9a-f]{6}\b", inline)
    ids = set(re.findall(r'\bid="([^"]*)"', inline))
    assert ids and all(name.startswith("pong-") for name in ids)
    assert set(re.findall(r'href="#([^"]*)"', inline)) | set(re.findall(r"url\(#([^)]*)\)", inline)) <= ids


def test_a_settled_figure_keeps_its_layout(figure: Figure) -> None:
    settle(figure)
    place = figure.axes[0].get_position().bounds
    as_svg(figure)
    assert figure.axes[0].get_position().bounds == place


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_suffix_gives_the_format_and_the_folder_is_made(
    figure: Figure, tmp_path: Path, suffix: str, start: bytes
) -> None:
    path = tmp_path / "new" / f"figure{suffix}"
    save_figure(figure, path)
    assert path.read_bytes().startswith(start)
