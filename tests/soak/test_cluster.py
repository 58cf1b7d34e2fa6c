"""A master and two workers, one of which is lost: the answers and accounts of a local run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.soak.conftest import CONF, Daemon
from tests.soak.drivers import Driver, flush, make_files
from tests.soak.noted import attempts, delivered, same_accounts, same_ledger

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

FILES = 10


def test_a_cluster_that_loses_a_worker_gives_what_a_local_run_gives(
    cluster: tuple[str, list[Daemon]], tmp_path: Path
) -> None:
    address, workers = cluster
    make_files(tmp_path / "in", 0, FILES)
    flush(tmp_path / "in", FILES)
    far, near = tmp_path / "far", tmp_path / "near"
    with Driver(far, address, CONF) as driver, Driver(near) as alone:
        for one in (driver, alone):
            one.begin(tmp_path / "in", one.scratch / "checkpoint", one.scratch, idle=True)
        driver.wait_for(far / "checkpoint" / "offsets" / str(FILES // 2))
        assert all(list(worker.folder.glob("work/app-*/*")) for worker in workers)
        workers[0].kill()
        for one in (driver, alone):
            one.finish()
    assert attempts(far / "attempts") == attempts(near / "attempts")
    assert {row["query"] for row in map(json.loads, delivered(far))} == {
        "sampled",
        "sliding",
        "top",
    }
    assert attempts(far / "accounts") == attempts(near / "accounts")
    same_accounts(far / "accounts", near / "accounts")
    same_ledger(far / "ledger.json", near / "ledger.json")
