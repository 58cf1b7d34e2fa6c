"""The example dashboard and alerts name only metrics, and labels of them, that there are."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from penstock.view import prometheus
from penstock.view.metrics import exposition
from penstock.view.streams import Streams
from tests.view.scenes import ROOT, scene
from tests.view.test_streams import REPORT

FOLDER = ROOT / "examples/monitoring"
NAME = re.compile(r"\bpenstock_\w+")


def published() -> dict[str, set[str]]:
    """Metric → its labels."""
    streams = Streams()
    streams.progressed(REPORT)
    text = exposition(scene(100)) + prometheus.text(streams.collect)
    return {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def dashboard() -> Any:
    return json.loads((FOLDER / "grafana.json").read_text())


def alerts() -> list[dict]:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> Iterator[str]:
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for rule in alerts():
        yield rule["expr"]


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_metric_exists_with_its_labels(expression):
    known = published()
    names = NAME.findall(expression)
    assert names
    for name in names:
        assert name in known
    for name, inside in re.findall(r"(penstock_\w+)\{([^}]*)\}", expression):
        assert set(re.findall(r"(\w+)=", inside)) <= known[name] | {"job"}


def test_legends_and_texts_use_labels_that_the_metrics_have():
    known = published()
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            (name, *_) = NAME.findall(target["expr"])
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= known[name]
    for rule in alerts():
        (name, *_) = NAME.findall(rule["expr"])
        used = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
        assert set(used) <= known[name] | {"job"}


def test_the_dashboard_can_be_imported():
    board = dashboard()
    assert board["title"] == "Penstock"
    assert board["schemaVersion"] >= 39
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert max(x for x, _ in cells) < 24
        assert not taken & cells  # no panel covers another
        taken |= cells
        assert panel["datasource"]["uid"] == "${datasource}"
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_the_alerts_are_those_that_a_run_needs():
    names = {rule["alert"] for rule in alerts()}
    assert names >= {
        "PenstockTargetMissed",
        "PenstockShedsForLong",
        "PenstockDemandAboveCapacity",
        "PenstockAccountsUnbalanced",
        "PenstockProblems",
    }
    for rule in alerts():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"]
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}


def test_the_page_about_it_lists_every_metric_of_a_run():
    page = (ROOT / "docs/monitoring.md").read_text()
    listed = set(re.findall(r"`(penstock_\w+)(?=[{`])", page))
    assert listed == {name for name in published() if not name.startswith("penstock_stream_")}


def test_the_demand_is_on_the_dashboard_for_autoscalers():
    assert any("penstock_demand_ratio" in one for one in expressions())
