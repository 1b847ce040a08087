//===- Convert.cpp - ONNX models in mixed precision
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Convert/Convert.h"

#include "Checks.h"
#include "Decide.h"
#include "HalfModels.h"
#include "ModulePatch.h"
#include "Opset.h"
#include "Restore.h"
#include "Rewrite.h"
#include "ScaledOperands.h"
#include "Tensors.h"
#include "WidenAll.h"

#include "lib/Import/Onnx/Validate.h"

#include "mpopt/Import/Format.h"

#include "onnx/inliner/inliner.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using onnx::TensorProto;

// Weights of more bytes than this go to a file of their own: a message holds
// 2 GiB at most, and is written from memory.
static constexpr uint64_t kMostInside = uint64_t(1) << 30;

// Weights of fewer bytes stay in the model, as ONNX's own tools have it.
static constexpr uint64_t kLeastOutside = 1024;

namespace {
struct Placed {
  const TensorProto *tensor; ///< as it was before it was placed
  uint64_t offset;
};
} // namespace

struct OnnxConverter::State {
  onnx_import::ModelFile file;
  ImportResult diagnostics;
  ErrorSink sink{diagnostics};
  onnx_import::FunctionTable functions;
  std::unique_ptr<TensorSource> tensors;
  /// Tensors that go to a file of their own.
  std::deque<TensorProto> outside;
  std::vector<Placed> placed;
  std::string dataName;
  bool isUnsorted = false;
  /// The model as it is, while changes of it are planned.
  std::unique_ptr<Model> planned;

  Model &getPlanned();
  /// The bytes of constants before the first change; nothing: there was none.
  std::optional<uint64_t> bytesBefore;
  /// Inputs and outputs before the model was made FP32.
  std::vector<ConvertedBorder> borders;
};

OnnxConverter::OnnxConverter(std::unique_ptr<State> state)
    : state(std::move(state)) {}
OnnxConverter::OnnxConverter(OnnxConverter &&) = default;
OnnxConverter::~OnnxConverter() = default;

Expected<OnnxConverter> OnnxConverter::open(StringRef bytes, StringRef path) {
  auto state = std::make_unique<State>();
  ModelFormat format = detectFormat(bytes);
  onnx_import::NodeOrders orders;
  bool valid =
      onnx_import::parseModel(bytes, path, format, state->file, state->sink) &&
      onnx_import::validateModel(state->file.model, state->sink, orders) &&
      state->functions.build(state->file.model, state->sink);
  if (!valid || state->sink.hasErrors())
    return llvm::createStringError(
        state->diagnostics.errors.empty()
            ? std::string("is not valid")
            : state->diagnostics.errors.front().str());
  state->tensors = std::make_unique<TensorSource>(state->file);
  state->isUnsorted = !orders.empty();
  return OnnxConverter(std::move(state));
}

Model &OnnxConverter::State::getPlanned() {
  if (!planned) {
    planned = std::make_unique<Model>(file.model, kTakesHalf, functions,
                                      llvm::ArrayRef<std::string>());
    planned->build();
  }
  return *planned;
}

Expected<ModelDiff> OnnxConverter::describeChange(const ModuleCopy &copy) {
  Model &model = state->getPlanned();
  // A plan takes names, which are free again behind it.
  llvm::StringSet<> names = model.main.names;
  Expected<ModulePatch> patch = planPatch(model, copy);
  model.main.names = std::move(names);
  if (!patch)
    return patch.takeError();
  return describePatch(*patch, *state->tensors);
}

Expected<ModelDiff> OnnxConverter::change(const ModuleCopy &copy) {
  Expected<ModulePatch> patch = planPatch(state->getPlanned(), copy);
  if (!patch)
    return patch.takeError();
  Expected<ModelDiff> diff = describePatch(*patch, *state->tensors);
  if (!diff)
    return diff;
  if (Error error = applyPatch(*patch, *state->tensors))
    return std::move(error);
  state->planned.reset();
  return diff;
}

std::string OnnxConverter::findNote(StringRef key) const {
  for (const auto &entry : state->file.model.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return "";
}

void OnnxConverter::setNote(StringRef key, StringRef value) {
  onnx::ModelProto &model = state->file.model;
  for (auto &entry : *model.mutable_metadata_props())
    if (entry.key() == key)
      return entry.set_value(value.str());
  auto &entry = *model.add_metadata_props();
  entry.set_key(key.str());
  entry.set_value(value.str());
}

std::string mpopt::nameResult(StringRef node, size_t index) {
  return (node + llvm::Twine('\n') + llvm::Twine(index)).str();
}

static uint64_t sumConstants(onnx::ModelProto &model) {
  uint64_t bytes = 0;
  forEachTensor(model, [&](TensorProto &tensor) {
    bytes += TensorSource::getSize(tensor);
  });
  return bytes;
}

Expected<Conversion> OnnxConverter::convert(const ConvertRequest &request) {
  onnx::ModelProto &proto = state->file.model;
  bool isHalf = request.plan.low == "f16";
  int64_t opset = getOpset();
  // Cast and all ops have BF16 from opset 13 on.
  constexpr int64_t kFirstWithBf16 = 13;
  if (!isHalf && opset < kFirstWithBf16)
    return llvm::createStringError(
        "--to mixed-bf16: the model is of opset " + std::to_string(opset) +
        ", and BF16 came with " + std::to_string(kFirstWithBf16) +
        ": --opset raises it");
  Conversion report;
  report.bytesBefore = state->bytesBefore.value_or(sumConstants(proto));
  if (proto.training_info_size() > 0) {
    report.warnings.push_back("training_info is left out");
    proto.clear_training_info();
  }
  Model model(proto, isHalf ? kTakesHalf : kTakesBfloat, state->functions,
              request.assumed);
  model.build();
  if (Error error = decide(model, request, *state->tensors))
    return std::move(error);
  report.isChanged = becomesLow(model);
  if (report.isChanged)
    rewrite(model, report);
  else {
    listKept(model, report);
    if (state->isUnsorted)
      sortNodes(*proto.mutable_graph());
  }
  for (const InsertedCast &cast : report.casts) {
    if (!request.findShape)
      continue;
    auto shape = request.findShape(cast.scope, cast.tensor);
    double elements = shape ? 1 : 0;
    for (int64_t dim : shape.value_or(std::vector<int64_t>()))
      elements *= double(dim);
    report.castBytes += elements * (4 + 2);
  }
  if (!state->borders.empty()) {
    Model result(proto, kTakesBfloat, state->functions, {});
    result.build();
    restoreBorders(result, state->borders, report);
    report.isChanged = true;
  }
  report.bytesAfter = sumConstants(proto);
  return report;
}

int64_t OnnxConverter::getOpset() const {
  const onnx::ModelProto &model = state->file.model;
  return onnx_import::OpsetMap::read(model.opset_import(), model.ir_version(),
                                     "", nullptr)
      .version("");
}

Error OnnxConverter::raiseOpset(unsigned opset) {
  return convert::raiseOpset(state->file.model, opset);
}

Expected<std::vector<TensorInFp8>>
OnnxConverter::scaleOperands(const ScaledProducts &products) {
  state->bytesBefore = sumConstants(state->file.model);
  return convert::scaleOperands(state->file.model, *state->tensors, products);
}

std::vector<WideNode> OnnxConverter::widenHalf() {
  Model model(state->file.model, kTakesHalf, state->functions, {});
  model.build();
  std::optional<std::vector<WideNode>> wide = listWide(model);
  if (!wide)
    return {};
  Conversion made = widenAll();
  state->bytesBefore = made.bytesBefore;
  state->borders = std::move(made.io);
  state->planned.reset();
  return std::move(*wide);
}

Conversion OnnxConverter::widenAll() {
  Conversion report;
  report.bytesBefore = sumConstants(state->file.model);
  Model model(state->file.model, kTakesHalf, state->functions, {});
  model.build();
  dropCasts(model);
  report.isChanged = convert::widenAll(state->file.model, report);
  report.bytesAfter = sumConstants(state->file.model);
  return report;
}

Expected<RestoredModel> OnnxConverter::restoreRoundings() {
  onnx::ModelProto &proto = state->file.model;
  try {
    if (proto.functions_size() > 0)
      onnx::inliner::InlineLocalFunctions(proto);
  } catch (const std::exception &error) {
    StringRef said = StringRef(error.what()).split('\n').first;
    return llvm::createStringError("its functions cannot be inlined: " +
                                   said.str());
  }
  onnx_import::FunctionTable none;
  Model model(proto, kTakesHalf, none, {});
  model.build();
  return convert::restoreRoundings(model);
}

void OnnxConverter::addOutputs(llvm::ArrayRef<std::string> tensors) {
  for (const std::string &tensor : tensors)
    state->file.model.mutable_graph()->add_output()->set_name(tensor);
}

std::string OnnxConverter::findFault(std::string &stale) const {
  Faults faults = findFaults(state->file.model, *state->tensors);
  stale = std::move(faults.stale);
  return std::move(faults.fatal);
}

void OnnxConverter::mendShapes() {
  convert::mendShapes(state->file.model, *state->tensors);
}

static void locate(TensorProto &tensor, StringRef file, uint64_t offset,
                   uint64_t length) {
  tensor.clear_external_data();
  auto add = [&](StringRef key, const std::string &value) {
    auto &entry = *tensor.add_external_data();
    entry.set_key(key.str());
    entry.set_value(value);
  };
  tensor.set_data_location(TensorProto::EXTERNAL);
  add("location", file.str());
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

bool OnnxConverter::placeWeights(StringRef dataName) {
  bool isOutside = false;
  uint64_t total = 0;
  auto forEach = [&](llvm::function_ref<void(TensorProto &)> visit) {
    forEachTensor(state->file.model, visit);
  };
  forEach([&](TensorProto &tensor) {
    isOutside |= TensorSource::isExternal(tensor);
    total += TensorSource::getSize(tensor);
  });
  isOutside |= total > kMostInside;
  if (!isOutside)
    return false;
  state->dataName = dataName.str();
  // Offsets of whole pages can be mapped.
  constexpr uint64_t kPage = 4096;
  uint64_t offset = 0;
  forEach([&](TensorProto &tensor) {
    uint64_t size = TensorSource::getSize(tensor);
    if (!TensorSource::isPending(tensor) || size < kLeastOutside)
      return;
    state->outside.push_back(tensor);
    offset = (offset + kPage - 1) / kPage * kPage;
    state->placed.push_back({&state->outside.back(), offset});
    TensorSource::setRaw(tensor, "");
    tensor.clear_raw_data();
    locate(tensor, dataName, offset, size);
    offset += size;
  });
  return !state->placed.empty();
}

void OnnxConverter::moveWeights(StringRef dataName) {
  forEachTensor(state->file.model, [&](TensorProto &tensor) {
    if (TensorSource::isExternal(tensor))
      for (auto &entry : *tensor.mutable_external_data())
        if (entry.key() == "location" && entry.value() == state->dataName)
          entry.set_value(dataName.str());
  });
  state->dataName = dataName.str();
}

/// The tensor's data as raw bytes in the message.
static Error settle(TensorSource &source, TensorProto &tensor) {
  std::string storage;
  Expected<llvm::ArrayRef<char>> data = source.read(tensor, storage);
  if (!data)
    return data.takeError();
  TensorSource::setRaw(tensor, std::string(data->data(), data->size()));
  return Error::success();
}

Error OnnxConverter::writeModel(llvm::raw_ostream &os) const {
  Error error = Error::success();
  bool isPlaced = !state->placed.empty();
  forEachTensor(state->file.model, [&](TensorProto &tensor) {
    // Those that are left outside are in the new file.
    bool isThere = isPlaced && TensorSource::getSize(tensor) >= kLeastOutside;
    if (!error && !isThere && TensorSource::isPending(tensor))
      error = settle(*state->tensors, tensor);
  });
  if (error)
    return error;
  std::string bytes;
  if (!state->file.model.SerializeToString(&bytes))
    return llvm::createStringError(
        "the result is larger than a message can be");
  os << bytes;
  return Error::success();
}

Error OnnxConverter::writeWeights(llvm::raw_ostream &os) const {
  uint64_t at = 0;
  for (const Placed &placed : state->placed) {
    os.write_zeros(unsigned(placed.offset - at));
    std::string storage;
    Expected<llvm::ArrayRef<char>> data =
        state->tensors->read(*placed.tensor, storage);
    if (!data)
      return data.takeError();
    os.write(data->data(), data->size());
    at = placed.offset + data->size();
  }
  return Error::success();
}
