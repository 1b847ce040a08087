"""Files of PyTorch that `mpopt --convert` reads."""

import json
import warnings

import torch
from tool import run_mpopt

FORMS = ["exported", "decomposed", "traced", "scripted"]


def save(module, inputs, form, folder, **options):
    """The module in one of the forms; a file."""
    path = folder / ("m.pt" if form in ("traced", "scripted") else "m.pt2")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if form == "scripted":
            torch.jit.script(module).save(path)
        elif form == "traced":
            torch.jit.trace(module, inputs, check_trace=False).save(path)
        else:
            program = torch.export.export(module, inputs, **options)
            torch.export.save(program.run_decompositions() if form == "decomposed" else program, path)
    return path


def convert(path, *options, status=0, shapes=()):
    """The report; of a refusal the line."""
    out, report = path.with_name(f"out{path.suffix}"), path.with_name("r.json")
    given = [word for shape in shapes for word in ("--input-shape", shape)] if path.suffix == ".pt" else []
    done = run_mpopt("--convert", path, "-o", out, "--report", report, *given, *options)
    assert done.returncode == status, done.stderr
    if status == 2:
        assert not out.exists()
        assert len(done.stderr.splitlines()) == 1
        return done.stderr
    return json.loads(report.read_text())
