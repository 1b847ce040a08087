"""Exported programs without their weights, and weights put into them.

A skeleton is the archive of torch.export.save, deflated, without the members of weights and
the nodes' stack traces: about 2 kB a layer. What is under 4 KiB and no parameter
(frequencies of rotary embeddings) stays. No PyTorch is needed to fill one.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy

# torch._export.serde.schema.ScalarType
DTYPES = {4: numpy.dtype("int32"), 5: numpy.dtype("int64"), 7: numpy.dtype("float32")}
# PyTorch aligns the members of its archives to this many bytes, and maps them.
ALIGNMENT = 64
# Time stamps would make two equal archives differ.
EPOCH = (1980, 1, 1, 0, 0, 0)
KEPT_BYTES = 4096


def _parameters(archive: zipfile.ZipFile) -> Iterator[tuple[str, str, tuple[int, ...], numpy.dtype]]:
    """Name, member, shape and dtype of each parameter, of tied ones the first."""
    config = next(name for name in archive.namelist() if name.endswith("model_weights_config.json"))
    seen = set()
    for name, entry in json.loads(archive.read(config))["config"].items():
        member = config.rpartition("/")[0] + "/" + entry["path_name"]
        if member in seen:
            continue
        seen.add(member)
        meta = entry["tensor_meta"]
        shape = tuple(size["as_int"] for size in meta["sizes"])
        if entry["is_param"]:
            yield name, member, shape, DTYPES[meta["dtype"]]
        elif archive.getinfo(member).file_size > KEPT_BYTES:
            raise ValueError(f"the buffer {name} is larger than {KEPT_BYTES} bytes")


def _without_traces(model: bytes) -> bytes:
    program = json.loads(model)
    for node in program["graph_module"]["graph"]["nodes"]:
        # The innermost module says in which scope a node is.
        stack = node["metadata"].get("nn_module_stack", "")
        node["metadata"] = {"nn_module_stack": stack.rpartition(";")[2]} if stack else {}
    return json.dumps(program, separators=(",", ":")).encode()


def strip(source: Path, target: Path) -> None:
    """Writes the skeleton of an archive."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        weights = {member for _, member, _, _ in _parameters(archive)}
        for name in archive.namelist():
            if name in weights:
                continue
            content = archive.read(name)
            if name.endswith("models/model.json"):
                content = _without_traces(content)
            # The archive's folder is named after the file.
            made.writestr(zipfile.ZipInfo("model/" + name.partition("/")[2], EPOCH), content,
                          zipfile.ZIP_DEFLATED, 9)


def _store(made: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Adds a member that is stored, not deflated, and aligned."""
    info = zipfile.ZipInfo(name, EPOCH)
    start = made.fp.tell() + 30 + len(name) + 4
    padding = -start % ALIGNMENT
    info.extra = b"FB" + padding.to_bytes(2, "little") + bytes(padding)
    made.writestr(info, content)


def fill(skeleton: Path, target: Path, make: Callable[[str, tuple[int, ...], numpy.dtype], numpy.ndarray]) -> None:
    """Writes the archive with the weights that `make` gives for name, shape and dtype."""
    with zipfile.ZipFile(skeleton) as archive, zipfile.ZipFile(target, "w") as made:
        for member in archive.namelist():
            _store(made, member, archive.read(member))
        for name, member, shape, dtype in _parameters(archive):
            _store(made, member, make(name, shape, dtype).tobytes())
