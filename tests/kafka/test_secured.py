"""The page about Kafka, word for word, with a broker that has TLS and asks for a password."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.bench.kafka.broker import PASSWORD, USER
from penstock.cli.main import app
from penstock.network.config import read_config
from tests.kafka.keys import make_trust
from tests.pages import blocks, commands, commands_have

pytestmark = pytest.mark.soak  # a client that is refused goes on trying for a while

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "kafka.md"
ROWS = 50


@pytest.fixture
def shown(broker, tmp_path, monkeypatch):
    """The blocks of the page, for the names that this broker has; the topic has records."""
    trust = tmp_path / "trust.jks"
    make_trust(broker.keys, trust)
    topic, now = broker.topic(), datetime.now(UTC).isoformat()
    record = json.dumps({"ts": now, "host": "h", "size": 1}).encode()
    broker.send(topic, [record] * ROWS)
    text = PAGE.read_text().replace("db:9093/packets", f"{broker.secured}/{topic}")
    for ours, theirs in {
        "db:9093": broker.secured,
        'topics = "packets"': f'topics = "{topic}"\nstarting = "earliest"',
        "[query.per_minute]": '[run]\ntrigger = "available now"\n\n[query.per_minute]',
        "/etc/kafka/trust.jks": str(trust),
        'username="me"': f'username="{USER}"',
        "…": PASSWORD,
    }.items():
        assert ours in text, ours
        text = text.replace(ours, theirs)
    monkeypatch.chdir(tmp_path)
    return blocks(text)


def say(shown, monkeypatch) -> list[list[str]]:
    """Sets what the page exports; its commands that need it."""
    texts = [block for block in shown if block.language == "text"]
    lines = [line for block in texts for line in block.text.splitlines()]
    exported = [line.split("=", 1) for line in lines if line.startswith("export ")]
    assert {name for name, _ in exported} == {"export KAFKA_LOGIN", "export TRUST_PASSWORD"}
    for name, value in exported:
        monkeypatch.setenv(name.removeprefix("export "), value.strip("'"))
    return [words for block in texts for words in commands(block)]


def test_what_the_page_says_of_tls_and_passwords_is_so(
    spark, shown, tmp_path, tmp_path_factory, monkeypatch
):
    commands_have(spark, tmp_path_factory.mktemp("scratch"), monkeypatch)
    written = next(block for block in shown if "write_text" in block.text)
    exec(compile(written.text, str(PAGE), "exec"), {})  # noqa: S102 - that is the purpose

    def call(*words: str) -> str:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        assert PASSWORD not in result.output
        return result.stdout

    doctor, run, init = say(shown, monkeypatch)
    assert (doctor[0], run[0], init[0]) == ("doctor", "run", "init")
    found = json.loads(call(*doctor, "--json"))["checks"]
    assert {one["check"]: one["state"] for one in found}["stream packets"] == "ok"
    done = json.loads(call(*run, "--json"))
    assert (done["rows"], done["balanced"]) == (ROWS, True)
    call(*init, "-o", "found.toml")
    assert PASSWORD not in (tmp_path / "found.toml").read_text()
    (stream,) = read_config(tmp_path / "found.toml").streams.values()
    assert stream.options["schema"] == "host string, size bigint, ts timestamp"


def test_who_does_not_trust_the_broker_is_told_so(
    spark, shown, tmp_path, tmp_path_factory, monkeypatch
):
    commands_have(spark, tmp_path_factory.mktemp("scratch"), monkeypatch)
    *_, init = say(shown, monkeypatch)
    place = init.index(next(word for word in init if "truststore.location" in word))
    without = init[: place - 1] + init[place + 3 :]
    result = CliRunner().invoke(app, [*without, "-o", "found.toml"])
    assert result.exit_code == 2, result.output
    assert "SunCertPathBuilderException: unable to find valid certification path" in result.output
    assert len(result.output.splitlines()) == 1
    assert PASSWORD not in result.output
    assert not (tmp_path / "found.toml").exists()
