"""Small files in a checkpoint, through the checkpoint's own file system."""

from __future__ import annotations

import re

import pyarrow as pa
from pyarrow import fs

from penstock.errors import UsageError, complaint

_KNOWN = "must be on a file system that Arrow knows (local, hdfs, s3, gs, abfs)"


class Folder:
    """A folder of a checkpoint on any file system that Arrow knows.

    Args:
        checkpoint: a path or a URI such as "hdfs://..." or "s3a://...".
        name: the folder in it.
    """

    def __init__(self, checkpoint: str, name: str) -> None:
        # Hadoop says file:/x and s3a://x where Arrow says file:///x and s3://x.
        uri = re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/+", "/", checkpoint))
        try:
            local = "://" not in uri
            self._fs, base = (fs.LocalFileSystem(), uri) if local else fs.FileSystem.from_uri(uri)
        except (pa.ArrowException, OSError) as error:
            raise UsageError(complaint("checkpoint", _KNOWN, checkpoint)) from error
        self._path = f"{base.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """The names of the files; none where there is no such folder."""
        found = self._fs.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        return [info.base_name for info in found if info.type == fs.FileType.File]

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self._fs.open_input_stream(f"{self._path}/{name}") as file:
            return bytes(file.read())

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, whole or not at all."""
        try:
            self._fs.create_dir(self._path, recursive=True)
            # Who reads the folder passes over what begins with a dot.
            with self._fs.open_output_stream(f"{self._path}/.{name}.new") as file:
                file.write(content)
            self._fs.move(f"{self._path}/.{name}.new", f"{self._path}/{name}")
        except OSError as error:
            raise UsageError(complaint("checkpoint", "must be writable", self._path)) from error

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        if name in self.names():
            self._fs.delete_file(f"{self._path}/{name}")
