"""mpopt: where a model overflows, underflows or turns NaN in 16- and 8-bit floats.

    import mpopt

    report = mpopt.check("model.onnx", precision="fp16")
    for finding in report.findings:
        print(finding.rule, finding.tensor, finding.message)

    probed = mpopt.instrument("model.onnx", "probed.onnx")
    session = mpopt.probe_session(probed.path)
    session.run(None, feed)
    print(mpopt.confirm(session.recorder.path, probed.ledger).first_bad)

Models are paths, `onnx.ModelProto`s, TorchScript modules, or `torch.nn.Module`s with
example inputs. PyTorch and ONNX Runtime are only imported by what needs them.
"""

from mpopt._command import Error, Normal
from mpopt._training_options import Batch
from mpopt._version import __version__
from mpopt.advising import Advice, advise
from mpopt.checking import check, explain, list_rules
from mpopt.confirming import confirm
from mpopt.converting import Converted, convert, to_bfloat16, to_float16
from mpopt.data import DataEntry, DataFinding, DataReport, check_data
from mpopt.differing import Diff, diff
from mpopt.findings import Cause, Finding, Findings, Fix, Interval, Location, Observed, Op
from mpopt.fixing import Fixed, fix
from mpopt.instrumenting import Instrumented, Probe, instrument, strip
from mpopt.report import (
    Assumption,
    Confirmation,
    ExpectedGradient,
    FindingsError,
    Gradient,
    Gradients,
    LossScale,
    Output,
    Report,
    TrainingReport,
)
from mpopt.sessions import op_library, probe_session
from mpopt.summaries import Summary, summary
from mpopt.training import check_training
from mpopt.trying import TriedOp, try_op

__all__ = [
    "Advice", "Assumption", "Batch", "Cause", "Confirmation", "Converted", "DataEntry", "DataFinding", "DataReport", "Diff", "Error",
    "ExpectedGradient", "Finding", "Findings", "FindingsError", "Fix", "Fixed", "Gradient", "Gradients",
    "Instrumented", "Interval", "Location", "LossScale", "Normal", "Observed", "Op", "Output",
    "Probe", "Report", "Summary", "TrainingReport", "TriedOp", "__version__", "advise", "check", "check_data", "check_training", "confirm", "convert", "diff", "explain", "fix",
    "instrument", "list_rules", "op_library", "probe_session", "strip", "summary", "to_bfloat16",
    "to_float16", "try_op",
]

import pathlib as _pathlib
import warnings as _warnings

from mpopt import _torch_hook, _version

_torch_hook.install()
if _other := _version.other_package(_pathlib.Path(__file__).parent.parent):
    _warnings.warn(f"mpopt: {_other}", RuntimeWarning, stacklevel=2)


def __getattr__(name: str):
    # The monitor needs PyTorch, which a program that only judges files does without.
    if name in ("integrations", "lint", "monitor", "view"):
        import importlib

        return importlib.import_module(f"mpopt.{name}")
    raise AttributeError(f"module 'mpopt' has no attribute '{name}'")
