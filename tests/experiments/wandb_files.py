"""Files for Weights & Biases, read back: a log of records as LevelDB has them, each a message of theirs."""

import importlib
import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEADER = 7
_BLOCK = 32_768


def read_records(path: Path, timeout_seconds: float = 30.0) -> list[Any]:
    """The messages of a file that is ended, in order; the process beside ours that writes it may take a moment."""
    deadline = time.monotonic() + timeout_seconds
    while "exit" not in {record.WhichOneof("record_type") for record in _records(path)}:
        assert time.monotonic() < deadline, f"{path} is not ended"
        time.sleep(0.05)
    return list(_records(path))


def read_history(path: Path) -> list[dict[str, Any]]:
    """What was logged, row by row, without their own values."""
    return [
        {name: json.loads(item.value_json) for item in record.history.item if not (name := _name(item)).startswith("_")}
        for record in read_records(path)
        if record.WhichOneof("record_type") == "history"
    ]


def _records(path: Path) -> Iterator[Any]:
    # Its messages are made as it is imported, which no checker of types sees.
    messages: Any = importlib.import_module("wandb.proto.wandb_internal_pb2")
    data, position, parts = path.read_bytes(), _HEADER, b""
    assert data.startswith(b":W&B")
    while position + _HEADER <= len(data):
        if (left := _BLOCK - position % _BLOCK) < _HEADER:
            position += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, position)
        position += _HEADER
        if position + length > len(data):
            return  # it is being written
        parts += data[position : position + length]
        position += length
        if kind in (1, 4):  # whole, or the last part
            record = messages.Record()
            record.ParseFromString(parts)
            parts = b""
            yield record


def _name(item: Any) -> str:
    return str(item.key or "/".join(item.nested_key))
