"""The notebook of the documents runs from its first cell to its last one."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebooks" / "trained_agent.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter, about itself
def test_an_agent_is_trained_plays_leaves_and_comes_back(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    client = NotebookClient(notebook, timeout=110, resources={"metadata": {"path": str(tmp_path)}})
    done = client.execute()
    assert "smoke_dqn/Breakout/0 at update" in done.cells[-1].outputs[-1]["data"]["text/plain"]
