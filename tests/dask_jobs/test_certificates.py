"""Certificates, as settings name them."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from dask_jobs.certificates import TlsFiles
from dask_jobs.settings import LauncherSettings


def test_certificates_in_the_home_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    words = {name: f"~/{name}.pem" for name in TlsFiles._fields}
    settings = replace(LauncherSettings(address="tls://10.0.0.1:8786"), **cast(Any, words))
    assert len(settings.mistakes()) == 3
    for name in words:
        (tmp_path / f"{name}.pem").touch()
    assert settings.mistakes() == []
    assert settings.tls_files == {name: str(tmp_path / f"{name}.pem") for name in words}
