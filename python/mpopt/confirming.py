"""Predictions against what probes saw."""

import json
import os
from collections.abc import Sequence

from mpopt import _command
from mpopt._command import PathLike
from mpopt.report import Confirmation


def confirm(records: PathLike | Sequence[PathLike], ledger: PathLike) -> Confirmation:
    """Joins record files (`.mprec`, of several processes or ranks) with the ledger of
    the model that wrote them: `mpopt --confirm`."""
    if isinstance(records, str | os.PathLike):
        records = [records]
    output = _command.run(
        ["--confirm", *map(os.fspath, records), "--ledger", os.fspath(ledger), "--format", "json",
         "--fail-on", "never"], accepted=(0, 1))
    return Confirmation.of(json.loads(output))
