"""The checkpoint: is it there, is it this network's, can it be written, where does it stand?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from penstock.cli.doctor.check import Check, ok, warn, wrong
from penstock.cli.doctor.machine import nearest, room
from penstock.engine.files import Folder
from penstock.errors import PenstockError

_PROBE = "doctor"


def checkpoint_checks(checkpoint: str | None, network: str | None) -> Iterator[Check]:
    """What is to be said of a checkpoint.

    Args:
        checkpoint: its path or URI; None if none is named.
        network: the text of the network that is to run; None if it does not compile.
    """
    if checkpoint is None:
        mend = 'give checkpoint = "…" in [run], for a run to go on after a restart'
        yield warn("checkpoint", "none is named: it goes with the run", mend)
        yield room(Path.cwd())
        return
    try:
        yield _whose(checkpoint, network)
        local = re.sub(r"^file:/+", "/", checkpoint)
        if "://" in local:
            Folder(checkpoint, "penstock").write(_PROBE, b"")
            Folder(checkpoint, "penstock").remove(_PROBE)
            yield ok("checkpoint files", "can be written, on a file system of their own")
            return
    except (PenstockError, OSError) as error:
        yield wrong("checkpoint", str(error))
        return
    there = nearest(Path(local))
    if os.access(there, os.W_OK) and there.is_dir():
        yield ok("checkpoint files", "can be written; on a local disk, so for one machine only")
    else:
        yield wrong("checkpoint files", f"{there} cannot be written", "name another folder")
    yield room(Path(local))


def _whose(checkpoint: str, network: str | None) -> Check:
    ours = Folder(checkpoint, "penstock")
    if "network.txt" not in ours.names():
        if Folder(checkpoint, "offsets").names() or Folder(checkpoint, ".").names():
            mend = "give this network a checkpoint of its own"
            return wrong("checkpoint", f"{checkpoint} is not of a network of penstock", mend)
        return ok("checkpoint", f"{checkpoint} is new")
    if network is None:
        return warn("checkpoint", "the network does not compile: whose it is cannot be told")
    before, now = ours.read("network.txt").decode().splitlines(), network.splitlines()
    if before != now:
        apart = next(a or b for a, b in zip_longest(before, now) if a != b)
        mend = "give the new network a checkpoint of its own: docs/howto/changing_a_job.md"
        return wrong("checkpoint", f"{checkpoint} is of another network, with {apart}", mend)
    return ok("checkpoint", f"{checkpoint} is this network's: a run goes on where it was")
