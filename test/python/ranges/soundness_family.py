"""The cases of one file of soundness_cases: of one op family, say.

A case is a function that builds a small graph with the draw that it is given: an ONNX
graph that ONNX Runtime computes (`onnx_case`, `soundness.Draw`), or mp IR that NumPy
does (`ir_case`, `soundness_ir.IrDraw`)."""

import soundness
import soundness_ir


class Cases:
    """Both kinds by name. `opset`: that of the ONNX graphs."""

    def __init__(self, opset=24):
        self.opset = opset
        self.onnx, self.ir = {}, {}

    def __len__(self):
        return len(self.onnx) + len(self.ir)

    def onnx_case(self, function):
        return _add(self.onnx, function)

    def ir_case(self, function):
        return _add(self.ir, function)

    def check(self, seed, format, repeats, samples):
        """One round of all cases (`soundness.check_round`)."""
        result = soundness.Round()
        if self.onnx:
            result.update(soundness.check_round(self.onnx, seed, format, repeats, samples,
                                                self.opset))
        if self.ir:
            result.update(soundness_ir.check_round(self.ir, seed, format, repeats, samples))
        return result


def _add(cases, function):
    assert function.__name__ not in cases, f"two cases are called {function.__name__}"
    cases[function.__name__] = function
    return function
