"""Settings for a Spark of its own that is soon over, where the machine has others to run."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.session import PLAIN_FILES

AS_TOML = "".join(f'"{name}" = "{value}"\n' for name, value in PLAIN_FILES.items())
"""Lines of `[run.spark]`: a checkpoint's files are written without a process for each."""

_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"


def conf_dir(folder: Path) -> Path:
    """A folder for SPARK_CONF_DIR: the same, and Java compiles quickly, not well.

    Args:
        folder: where to make it.
    """
    made = folder / "conf"
    made.mkdir()
    settings = {**PLAIN_FILES, "spark.driver.extraJavaOptions": _JAVA}
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (made / "spark-defaults.conf").write_text("".join(lines))
    return made
