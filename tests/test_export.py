"""`python -m pipeline.export`: its words."""

from pathlib import Path

import pytest

from pipeline.config.arguments import parse_words
from pipeline.errors import ConfigError
from pipeline.export import ExportArguments, main


def test_several_formats_are_named_with_commas_with_or_without_brackets(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    for words in ("pt2,torchscript", "[pt2, torchscript]"):
        assert parse_words(ExportArguments, [f"run={tmp_path}", f"format={words}"]).formats == ("pt2", "torchscript")


def test_all_mistakes_are_told_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["run=nowhere", "format=onx,onnx", "ovrwrite=true"]) == 2
    said = capsys.readouterr().err
    assert "error: 4 mistakes in the configuration" in said
    assert "run=nowhere: no run folder is there, which would hold a config.yaml" in said
    assert "format=onx: no such format; did you mean onnx?" in said
    assert (
        "format=onnx: not installed here: onnx, onnxscript, onnxruntime: pip install 'gorila-dba3c-pipeline[export]'"
        in said
    )


def test_a_run_has_to_be_named() -> None:
    with pytest.raises(ConfigError, match="run is missing: name a run folder"):
        parse_words(ExportArguments, [])
