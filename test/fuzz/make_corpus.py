"""Writes the fuzzer's seed corpus: make_corpus.py FOLDER."""

import pathlib
import sys

from google.protobuf import text_format

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python" / "support"))
import small_models

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, model in small_models.models().items():
    (folder / (name + ".onnx")).write_bytes(model.SerializeToString())
    (folder / (name + ".textproto")).write_text(
        text_format.MessageToString(model))
for name, text in small_models.texts().items():
    (folder / (name + ".onnxtext")).write_text(text.strip())
(folder / "module.mlir").write_text(
    "func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
    "  return %a : tensor<?x4xf32>\n}\n")
