"""One peer's conversion of one file, in a process of its own.

    peers.py PEER MODEL OUT      PEER: onnxconverter-common, onnxruntime, imports-*
"""

from __future__ import annotations

import sys


def main() -> None:
    peer, model, out = sys.argv[1:]
    import onnx

    if peer.endswith("onnxconverter-common"):
        from onnxconverter_common import float16
    else:
        from onnxruntime.transformers import float16
    if peer.startswith("imports-"):
        return
    loaded = onnx.load(model)
    # Shape inference in memory fails above 2 GB; both converters offer to skip it.
    converted = float16.convert_float_to_float16(loaded, disable_shape_infer=False)
    onnx.save_model(converted, out, save_as_external_data=converted.ByteSize() > 2**30)


if __name__ == "__main__":
    main()
