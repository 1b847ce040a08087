"""One peer's conversion of one file, in a process of its own.

    peers.py PEER MODEL OUT

PEER is onnxconverter-common, onnxruntime or modelopt, or imports-PEER, which stops
after the imports.
"""

from __future__ import annotations

import resource
import sys

MEMORY = 12 << 30  # bytes of heap, so that a peer fails before the machine swaps


def main() -> None:
    peer, model, out = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    import onnx

    if peer.endswith("onnxconverter-common"):
        from onnxconverter_common import float16
    elif peer.endswith("modelopt"):
        from modelopt.onnx.autocast import convert_to_mixed_precision
    else:
        from onnxruntime.transformers import float16
    if peer.startswith("imports-"):
        return
    if peer == "modelopt":
        # Reads the file itself, and runs it once in ONNX Runtime on random inputs.
        converted = convert_to_mixed_precision(model, low_precision_type="fp16")
    else:
        loaded = onnx.load(model)
        # Shape inference in memory fails above 2 GB; both converters offer to skip it.
        converted = float16.convert_float_to_float16(loaded, disable_shape_infer=False)
    onnx.save_model(converted, out, save_as_external_data=converted.ByteSize() > 2**30)


if __name__ == "__main__":
    main()
