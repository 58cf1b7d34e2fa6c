"""Secrets are in no text that can be printed."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import SpecificationError
from penstock.sources.options import Options

SECRETS = [
    "kafka.sasl.jaas.config",
    "kafka.ssl.keystore.password",
    "kafka.ssl.key.password",
    "kafka.ssl.keystore.key",
    "kafka.sasl.login.credentials",
    "kafka.delegation.token",
    "client.SECRET",
    "basic.auth.user.info",
]


@pytest.mark.parametrize("name", SECRETS)
def test_the_value_of_a_secret_is_not_shown(name):
    options = Options({name: "hunter2", "subscribe": "packets"})
    assert options[name] == "hunter2"
    assert "hunter2" not in repr(options) + str(options) + f"{options}"
    assert "subscribe=packets" in repr(options)
    assert options.hide("failed with hunter2") == "failed with ***"


def test_a_source_and_a_sink_show_their_settings_without_secrets():
    options = {"kafka.sasl.jaas.config": 'x username="me" password="hunter2";'}
    for made in (
        ps.sources.kafka("h:1", "t", options=options),
        ps.sinks.kafka("h:1", "t", options=options),
    ):
        for text in (repr(made), str(made), made.describe()):
            assert "hunter2" not in text


def test_a_part_of_a_secret_is_hidden_too():
    options = Options({"kafka.sasl.jaas.config": 'x username="me" password="hunter2";'})
    assert (
        options.hide("login of me failed: hunter2 is wrong") == "login of *** failed: *** is wrong"
    )


def test_a_login_in_an_address_is_hidden():
    assert repr(Options({"url": "s3://id:hunter2@bucket/x"})) == "Options(url=s3://***@bucket/x)"
    assert "hunter2" not in ps.sources.files("s3a://id:hunter2@bucket/x").describe()


def test_values_become_text():
    assert dict(Options({"a": True, "b": 5})) == {"a": "true", "b": "5"}


def test_what_is_no_mapping_is_refused_without_being_shown():
    with pytest.raises(SpecificationError) as refusal:
        ps.sources.kafka("h:1", "t", options="password=hunter2")  # type: ignore[arg-type]
    assert "hunter2" not in str(refusal.value)
