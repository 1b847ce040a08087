"""Joins predictions with the records of probes."""

import dataclasses
import json
import os
from collections.abc import Sequence

from mpopt import _command
from mpopt._command import PathLike
from mpopt._source import Source
from mpopt.report import Confirmation


def confirm(records: PathLike | Sequence[PathLike], ledger: PathLike, *,
            keep_fp32: PathLike | None = None) -> Confirmation:
    """Joins record files (`.mprec`, of several processes or ranks) with the ledger of
    the model that wrote them: `mpopt --confirm`.

    records    one path, or a sequence of paths
    ledger     path of the ledger, `MODEL.probes.json`
    keep_fp32  a file to write with the ops that confirmed findings ask to keep in FP32,
               which `to_float16` reads

    Raises `mpopt.Error` if there is no record, or one belongs to another ledger."""
    if isinstance(records, str | os.PathLike):
        records = [records]
    with _command.argument("records"):
        files = [os.fspath(record) for record in records]
    if not files:
        raise _command.Error("there is no record to confirm anything by")
    options = [] if keep_fp32 is None else ["--keep-fp32", _command.text("keep_fp32", keep_fp32)]
    words = ["--confirm", *files, "--ledger", _command.text("ledger", ledger),
             "--fail-on", "never"]
    accepted = (0, 1)
    output = _command.run([*words, "--format", "json", *options], accepted)
    return dataclasses.replace(Confirmation.of(json.loads(output)),
                               source=Source(words, accepted=accepted))
