//===- Format.cpp - What kind of file this is
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signatures are the formats' own; zip archives are distinguished by the names
// in their central directory (APPNOTE 4.3), PyTorch's by what torch.jit.save,
// torch.export.save, torch.package and torch.save put in.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Format.h"

#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace mpopt;
using llvm::StringRef;

static uint64_t readLittle(StringRef bytes, size_t offset, unsigned width) {
  uint64_t value = 0;
  for (unsigned byte = 0; byte < width; ++byte)
    value |= uint64_t(uint8_t(bytes[offset + byte])) << (8 * byte);
  return value;
}

static ModelFormat detectZip(StringRef bytes) {
  bool code = false, pickle = false, exported = false, keras = false,
       numpy = false, package = false;
  llvm::Expected<std::vector<ZipMember>> members = readZipDirectory(bytes);
  if (!members) {
    // A PyTorch archive that was cut off: its reader says so.
    llvm::consumeError(members.takeError());
    return bytes.take_front(4096).contains("/data.pkl") ||
                   bytes.take_front(4096).contains("/code/")
               ? ModelFormat::TorchScript
               : ModelFormat::Zip;
  }
  for (const ZipMember &member : *members) {
    StringRef name = member.name;
    code |= name.contains("/code/") || name.ends_with("/constants.pkl");
    pickle |= name.ends_with("data.pkl");
    exported |= name.ends_with("archive_format") ||
                name.ends_with("serialized_exported_program.json");
    package |= name.ends_with("/.data/extern_modules");
    keras |= name.ends_with("model.weights.h5");
    numpy |= name.ends_with(".npy");
  }
  return exported  ? ModelFormat::ExportedProgram
         : package ? ModelFormat::TorchPackage
         : code    ? ModelFormat::TorchScript
         : pickle  ? ModelFormat::TorchState
         : keras   ? ModelFormat::Keras
         : numpy   ? ModelFormat::NumPy
                   : ModelFormat::Zip;
}

static bool isText(StringRef bytes) {
  return llvm::all_of(bytes.take_front(1024), [](char c) {
    uint8_t byte = c;
    return byte >= 0x20 ? byte != 0x7f : StringRef("\t\n\r\f").contains(c);
  });
}

/// `#map = ...` and `!alias = ...` define MLIR aliases.
static bool isMlirAlias(StringRef line) {
  StringRef name = line.drop_front().take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  return !name.empty() &&
         line.drop_front(1 + name.size()).ltrim().starts_with("=");
}

/// Which text format, by the first line that is no comment.
static ModelFormat detectText(StringRef text) {
  for (text = text.ltrim(); !text.empty(); text = text.ltrim()) {
    StringRef line = text.split('\n').first;
    bool comment =
        line.starts_with("//") || (line.starts_with("#") && !isMlirAlias(line));
    if (!comment)
      break;
    text = text.drop_front(line.size());
  }
  if (text.empty())
    return ModelFormat::Empty;
  for (StringRef start :
       {"module", "builtin.module", "\"", "func.func", "#", "!", "{-#", "%"})
    if (text.starts_with(start) &&
        (!llvm::isAlnum(start.back()) ||
         !llvm::isAlnum(text.drop_front(start.size()).take_front(1).empty()
                            ? ' '
                            : text[start.size()])))
      return ModelFormat::Mlir;
  if (text.starts_with_insensitive("<!doctype") ||
      text.starts_with_insensitive("<html"))
    return ModelFormat::Html;
  if (text.starts_with("<?xml") || text.starts_with("<net"))
    return ModelFormat::Xml;
  if (text.starts_with("{") || text.starts_with("["))
    return ModelFormat::Json;
  if (text.starts_with("<"))
    return ModelFormat::OnnxText;
  StringRef word = text.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  StringRef after = text.drop_front(word.size()).ltrim();
  if (!word.empty() && (after.starts_with(":") || after.starts_with("{")))
    return ModelFormat::OnnxTextProto;
  if (!word.empty() && after.starts_with("("))
    return ModelFormat::OnnxText;
  return ModelFormat::Unknown;
}

/// True if the bytes begin with a field that ModelProto has, of the right kind.
static bool startsLikeModelProto(StringRef bytes) {
  constexpr uint8_t kTags[] = {
      0x08 /*ir_version*/, 0x12 /*producer_name*/, 0x1a /*producer_version*/,
      0x22 /*domain*/,     0x28 /*model_version*/, 0x32 /*doc_string*/,
      0x3a /*graph*/,      0x42 /*opset_import*/,  0x72 /*metadata_props*/};
  return llvm::is_contained(kTags, uint8_t(bytes.front()));
}

ModelFormat mpopt::detectFormat(StringRef bytes) {
  if (bytes.empty())
    return ModelFormat::Empty;
  if (bytes.starts_with("version https://git-lfs.github.com/"))
    return ModelFormat::GitLfsPointer;
  if (bytes.starts_with("ML\xefR"))
    return ModelFormat::MlirBytecode;
  if (bytes.starts_with(StringRef("PK\3\4", 4)) ||
      bytes.starts_with(StringRef("PK\5\6", 4)))
    return detectZip(bytes);
  if (bytes.starts_with("\x1f\x8b"))
    return ModelFormat::Gzip;
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"))
    return ModelFormat::Hdf5;
  if (bytes.starts_with("\x93NUMPY"))
    return ModelFormat::NumPy;
  if (bytes.starts_with("GGUF"))
    return ModelFormat::Gguf;
  // torch.save before 1.6 pickles a magic number first.
  if (bytes.starts_with("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50"))
    return ModelFormat::TorchLegacy;
  if (uint8_t(bytes[0]) == 0x80 && bytes.size() > 1 && bytes[1] >= 2 &&
      bytes[1] <= 5)
    return ModelFormat::Pickle;
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3")
    return ModelFormat::TfLite;
  // A flatbuffer; mobile models in zip form have their code and are read.
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "PTMF")
    return ModelFormat::TorchMobile;
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "ORTM")
    return ModelFormat::OrtModel;
  if (bytes.size() > 9 && bytes[8] == '{') {
    uint64_t header = readLittle(bytes, 0, 8);
    if (header >= 2 && header <= bytes.size() - 8)
      return ModelFormat::SafeTensors;
  }
  if (isText(bytes))
    return detectText(bytes);
  return startsLikeModelProto(bytes) ? ModelFormat::Onnx : ModelFormat::Unknown;
}

namespace {
struct FormatText {
  ModelFormat format;
  StringRef name;   ///< in reports; empty if the format is not read
  StringRef advice; ///< empty if it is
};
} // namespace

/// A row for each format.
static constexpr FormatText kFormats[] = {
    {ModelFormat::Onnx, "onnx", ""},
    {ModelFormat::OnnxTextProto, "onnx", ""},
    {ModelFormat::OnnxText, "onnx", ""},
    {ModelFormat::Mlir, "mlir", ""},
    {ModelFormat::MlirBytecode, "mlir", ""},
    {ModelFormat::TorchScript, "torchscript", ""},
    {ModelFormat::ExportedProgram, "exported-program", ""},
    {ModelFormat::TorchMobile, "",
     "a PyTorch mobile model as a flatbuffer, which holds no graph: save "
     "the module with torch.jit.save, or with "
     "_save_for_lite_interpreter and without _use_flatbuffer"},
    {ModelFormat::TorchPackage, "",
     "a package saved by torch.package, which is code to be run: load "
     "the module with torch.package.PackageImporter and save it with "
     "torch.jit.save, or use torch.onnx.export"},
    {ModelFormat::TorchState, "",
     "a checkpoint saved by torch.save, which holds weights but no "
     "graph: load it into its model and use torch.onnx.export"},
    {ModelFormat::TorchLegacy, "",
     "a checkpoint in torch.save's old format, which holds no graph: "
     "load it into its model and use torch.onnx.export"},
    {ModelFormat::Pickle, "",
     "a Python pickle, which is not a model and is never executed here: "
     "export the model with torch.onnx.export"},
    {ModelFormat::SafeTensors, "",
     "a safetensors file, which holds weights but no graph: load it into "
     "its model and export that to ONNX"},
    {ModelFormat::Hdf5, "",
     "an HDF5 file (Keras weights or model): export the model with "
     "tf2onnx or keras' model.export(format='onnx')"},
    {ModelFormat::Keras, "",
     "a Keras archive: export the model with "
     "model.export(format='onnx')"},
    {ModelFormat::NumPy, "", "NumPy arrays, which hold no graph"},
    {ModelFormat::TfLite, "",
     "a TensorFlow Lite model: convert it with tf2onnx --tflite"},
    {ModelFormat::OrtModel, "",
     "an ONNX Runtime format model (.ort): use the .onnx file that it "
     "was made from"},
    {ModelFormat::Gguf, "",
     "a GGUF file, which holds weights but no graph: export the original "
     "model to ONNX"},
    {ModelFormat::Zip, "",
     "a zip archive: unpack it and name the model inside"},
    {ModelFormat::Gzip, "", "gzip-compressed: decompress it first (gunzip)"},
    {ModelFormat::GitLfsPointer, "",
     "a Git LFS pointer, not the model itself: fetch it with git lfs "
     "pull"},
    {ModelFormat::Html, "", "an HTML page: the download of the model failed"},
    {ModelFormat::Xml, "",
     "an XML file (an OpenVINO network?): use the ONNX model that it was "
     "made from"},
    {ModelFormat::Json, "", "a JSON file, not a model"},
    {ModelFormat::Empty, "", "empty"},
    {ModelFormat::Unknown, "",
     "in no format that mpopt knows: it reads ONNX (binary, textproto, "
     "ONNX text syntax), TorchScript archives, programs saved by "
     "torch.export and mp IR (.mlir, .mlirbc)"},
};

static const FormatText &textOf(ModelFormat format) {
  return *llvm::find_if(
      kFormats, [&](const FormatText &text) { return text.format == format; });
}

StringRef mpopt::getFormatName(ModelFormat format) {
  return textOf(format).name;
}

StringRef mpopt::explainFormat(ModelFormat format) {
  return textOf(format).advice;
}
