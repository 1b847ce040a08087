//===- TorchModel.cpp - Files of PyTorch in mixed precision
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TorchModel.h"

#include "lib/Driver/PythonCommand.h"
#include "mpopt/Driver/Output.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/JsonReader.h"
#include "mpopt/Report/JsonSupport.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::json::OStream;

TorchValues mpopt::listTorchValues(const ImportResult &imported) {
  TorchValues values;
  auto note = [&](mlir::Value value) {
    if (!mlir::isa<mlir::TensorType>(value.getType()))
      return;
    auto places = imported.places.find(getTensorPath(value));
    if (places == imported.places.end())
      return;
    TorchValue known{getDtypeName(getElementType(value)), {}};
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (type && type.hasStaticShape())
      known.shape = type.getShape().vec();
    for (const GraphPlace &place : places->second) {
      if (!place.members.empty())
        continue;
      auto [entry, isNew] = values.try_emplace(
          place.input >= 0 ? "input " + std::to_string(place.input)
                           : place.value,
          known);
      if (!isNew && entry->second.dtype != known.dtype)
        entry->second = TorchValue();
    }
  };
  (*imported.module)->walk([&](mlir::Operation *op) {
    llvm::for_each(op->getResults(), note);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        llvm::for_each(block.getArguments(), note);
  });
  return values;
}

bool mpopt::isSourcePatch(const Options &options) {
  StringRef output = options.output;
  return output.ends_with(".patch") || output.ends_with(".diff");
}

Error mpopt::checkTorchOptions(const Options &options, bool isArchive) {
  const ConvertOptions &asked = options.convert;
  if (isSourcePatch(options) && !asked.isMixed())
    return llvm::createStringError("a patch of its source is for --to "
                                   "mixed-fp16 and mixed-bf16");
  if (isSourcePatch(options) && !asked.verify.empty())
    return llvm::createStringError("--verify runs a model, and a patch of its "
                                   "source is none");
  if (isArchive && asked.verifiesTensors)
    return llvm::createStringError(
        "--verify-tensors is for ONNX files and "
        "exported programs, and this is TorchScript");
  StringRef unfit = asked.withFixes          ? "--with-fixes"
                    : asked.opset            ? "--opset"
                    : !asked.assumed.empty() ? "--assume-fp16"
                    : asked.to == "fp32"     ? "--to fp32"
                    : asked.to == "fp8-qdq"  ? "--to fp8-qdq"
                                             : "";
  if (unfit.empty())
    return Error::success();
  return llvm::createStringError(unfit +
                                 " is for ONNX files, and this is PyTorch's");
}

static void writeRequest(llvm::raw_ostream &os, const ConvertRequest &request,
                         const TorchValues &values, StringRef stamp,
                         bool isPatch) {
  OStream json(os);
  auto writeTexts = [&](StringRef key, llvm::ArrayRef<std::string> texts) {
    json.attributeArray(key, [&] {
      for (const std::string &text : texts)
        json.value(jsonText(text));
    });
  };
  json.object([&] {
    json.attribute("low", request.plan.low);
    json.attribute("stamp", jsonText(stamp));
    json.attribute("patch", isPatch);
    json.attributeArray("wide", [&] {
      for (const WideNode &wide : request.plan.wide)
        json.object([&] {
          json.attribute("node", jsonText(wide.node.name));
          json.attribute("why", jsonText(wide.why));
          json.attribute("type", jsonText(wide.type));
          json.attribute("file", jsonText(wide.file));
          json.attribute("line", int64_t(wide.line));
        });
    });
    json.attributeObject("values", [&] {
      for (const auto &[name, value] : values)
        json.attributeObject(jsonText(name), [&, &known = value] {
          json.attribute("dtype", known.dtype);
          json.attribute("shape", llvm::json::Array(known.shape));
        });
    });
    writeTexts("keep", request.keep);
    writeTexts("never", request.never);
    json.attribute("keep_all_io", request.keepsAllIo);
    writeTexts("keep_io", request.keepIo);
    std::vector<std::string> states;
    for (const auto *borders : {&request.plan.inputs, &request.plan.outputs})
      for (const WideBorder &border : *borders)
        states.push_back(border.name);
    writeTexts("states", states);
  });
}

static Expected<Conversion> readAnswer(StringRef answer) {
  auto value = llvm::json::parse(answer);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("PyTorch gave no result");
  Conversion made;
  std::string error;
  JsonReader json(*object, "", error);
  json.children("kept", [&](JsonReader row) {
    KeptNode &kept = made.kept.emplace_back();
    row.text("node", kept.name);
    row.text("type", kept.type);
    row.text("why", kept.why);
  });
  json.children("casts", [&](JsonReader row) {
    InsertedCast &cast = made.casts.emplace_back();
    row.text("tensor", cast.tensor);
    row.text("to", cast.to);
    row.text("why", cast.why);
  });
  json.children("io", [&](JsonReader row) {
    ConvertedBorder &border = made.io.emplace_back();
    row.text("name", border.name);
    row.text("from", border.from);
    row.text("to", border.to);
  });
  std::vector<int64_t> bytes;
  json.integers("bytes", bytes, 0, INT64_MAX);
  json.flag("changed", made.isChanged);
  json.texts("warnings", made.warnings);
  if (json.failed() || bytes.size() != 2)
    return llvm::createStringError("PyTorch gave no result: " + error);
  made.bytesBefore = uint64_t(bytes[0]);
  made.bytesAfter = uint64_t(bytes[1]);
  return made;
}

Expected<Conversion> mpopt::convertTorch(StringRef path, StringRef output,
                                         const ConvertRequest &request,
                                         const TorchValues &values,
                                         StringRef stamp, bool isPatch) {
  llvm::SmallString<128> file;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("mpopt-plan", "json", file))
    return llvm::createStringError("a temporary file: " + error.message());
  llvm::FileRemover remover(file);
  if (Error error = writeOutput(file, [&](llvm::raw_ostream &os) {
        writeRequest(os, request, values, stamp, isPatch);
      }))
    return std::move(error);
  auto answer = askPython("mpopt._torch_converting",
                          {path.str(), output.str(), file.str().str()});
  if (!answer)
    return answer.takeError();
  return readAnswer(*answer);
}
