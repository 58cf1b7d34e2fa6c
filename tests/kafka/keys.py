"""A key of a broker on loopback, by Java's own tool."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.bench.kafka.broker import PASSWORD, USER, Broker


def make_keys(keys: Path) -> None:
    """A file with a key and its certificate, signed by itself."""
    name = ("-dname", "CN=broker", "-ext", "san=ip:127.0.0.1", "-validity", "3650")
    _keytool("-genkeypair", "-alias", "broker", "-keyalg", "RSA", *name, "-keystore", keys)


def make_trust(keys: Path, trust: Path) -> None:
    """A file with the certificate alone, for those who are to believe it."""
    certificate = trust.with_suffix(".crt")
    _keytool("-exportcert", "-alias", "broker", "-keystore", keys, "-file", certificate)
    _keytool("-importcert", "-noprompt", "-file", certificate, "-keystore", trust)


def admit(broker: Broker) -> None:
    """Lets the user in at the broker's address with TLS."""
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    who = UserScramCredentialUpsertion(USER, how, PASSWORD.encode())
    admin = AdminClient({"bootstrap.servers": broker.servers})
    admin.alter_user_scram_credentials([who])[USER].result(30)


def _keytool(*terms: str | Path) -> None:
    home = os.environ.get("JAVA_HOME")
    tool = f"{home}/bin/keytool" if home else "keytool"
    done = subprocess.run(
        [tool, *map(str, terms), "-storepass", PASSWORD], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
