"""The notebook of the examples runs from its first cell to its last, and shows what it promises."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.quick import conf_dir

pytestmark = pytest.mark.soak

FILE = Path(__file__).parents[1] / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Cell → its outputs, after all of them were executed."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(FILE, as_version=4)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("TMPDIR", str(folder))
        environment.setenv("SPARK_CONF_DIR", str(conf_dir(folder)))
        where = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=240, resources=where).execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def displayed(outputs: list[Any], kind: str) -> str:
    """What a cell shows at its end, as that kind of content."""
    (text,) = [one.data[kind] for one in outputs if one.output_type == "execute_result"]
    return str(text)


def test_objects_render_as_html(shown):
    network = displayed(shown["network"], "text/html")
    assert network.startswith("<svg")
    for name in ("traffic", "large", "ports"):
        assert name in network
    run = displayed(shown["start"], "text/html")
    assert "<table>" in run
    assert "balanced" in run
    status = displayed(shown["status"], "text/html")
    assert "demand" in status
    assert "traffic" in status
    statistics = displayed(shown["statistics"], "text/html")
    assert statistics.startswith("<pre>")
    assert "packets_low" in displayed(shown["answers"], "text/html")
    assert "dropped" in displayed(shown["ledger"], "text/html")


def test_a_run_is_plotted(shown):
    assert len(displayed(shown["plot"], "image/png")) > 10_000


def test_nothing_is_logged_as_an_error(shown):
    printed = "".join(
        one.text for outputs in shown.values() for one in outputs if one.output_type == "stream"
    )
    assert "ERROR" not in printed, printed
    assert "Traceback" not in printed, printed


def test_the_file_is_kept_without_outputs():
    notebook = nbformat.read(FILE, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
