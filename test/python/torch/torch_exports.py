"""Networks of torch_networks.py as ONNX, by both exporters of PyTorch.

    torch_exports.py FOLDER EXPORTER...

writes FOLDER/NAME.EXPORTER.onnx and prints `export: NAME EXPORTER`, or `export: NAME
EXPORTER why it cannot be`, a line each among what PyTorch prints: the exporters take
about a second a network, so tests let them run beside.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from pathlib import Path

import torch
import torch_networks

OPSETS = {"legacy": 17, "dynamo": 20}


def export(network: torch_networks.Network, exporter: str, path: Path) -> None:
    """With each exporter's own defaults."""
    module = network.module()
    options = {"dynamo": exporter == "dynamo"}
    if exporter == "legacy":
        options["training"] = torch.onnx.TrainingMode.PRESERVE
        if "traced" not in network.forms:
            module = torch.jit.script(module)
    else:
        options["external_data"] = False
    torch.onnx.export(module, network.inputs, str(path), input_names=network.names,
                      opset_version=OPSETS[exporter], **options)


def reason_of(error: Exception) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def main(folder: str, *exporters: str) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # The fused layers of torch.nn have no ONNX counterpart.
    torch.backends.mha.set_fastpath_enabled(False)
    for network in torch_networks.networks():
        for exporter in exporters:
            path = Path(folder, f"{network.name}.{exporter}.onnx")
            said = io.StringIO()
            why = ""
            try:
                with (contextlib.redirect_stdout(said), contextlib.redirect_stderr(said),
                      torch.no_grad()):
                    export(network, exporter, path)
            except Exception as error:  # whatever an exporter throws
                why = " " + reason_of(error)
            print(f"\nexport: {network.name} {exporter}{why}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
