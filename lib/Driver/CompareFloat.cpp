//===- CompareFloat.cpp - A quantised model beside its float model
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of both are the same by their names, as quantisers leave them. Not
// covered: ops that a quantiser renames or fuses, and weights that it changes
// before they are quantised (SmoothQuant, cross-layer equalisation).
//
//===----------------------------------------------------------------------===//

#include "CompareFloat.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpopt;

namespace {
class FloatTwin {
public:
  FloatTwin(ModuleOp floats, ModuleOp codes)
      : floats(floats), codes(codes), manager(floats, nullptr),
        ownManager(codes, nullptr) {
    floats.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (std::string name = getTensorName(result); !name.empty())
          byName[name] = result;
    });
  }

  void noteRectifiers();
  void noteWeights();
  void compareOutputs(std::vector<std::string> &warnings);

private:
  void noteWeight(mp::DequantizeOp op, const RangeAnalysis &own,
                  const RangeAnalysis &ranges);
  Value findWeight(mp::DequantizeOp op) const;

  ModuleOp floats, codes;
  llvm::StringMap<Value> byName;
  ModuleAnalysisManager manager, ownManager;
};
} // namespace

/// True if a rectifier reads the value, be it behind a pair.
static bool isRectified(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (hasRole(user, Role::Quantization) && user->getNumResults() > 0)
      return isRectified(user->getResult(0));
    return hasRole(user, Role::Rectifier);
  });
}

/// True if codes that begin at 0 take the place of a rectifier.
static bool isCutByCodes(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto quantize = dyn_cast<mp::QuantizeOp>(user);
    auto format = quantize ? storageFormatOf(quantize) : std::nullopt;
    std::optional<double> zero = quantize && quantize.getZeroPoint()
                                     ? getSplatConstant(quantize.getZeroPoint())
                                     : std::optional(0.0);
    return format && !format->floats && zero == format->codes.lo;
  });
}

/// A rectifier is missing where the op in front of it is here and nothing
/// rectifies its result; under the name of either.
void FloatTwin::noteRectifiers() {
  codes.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || hasRole(op, Role::Quantization) ||
        hasRole(op, Role::Rectifier) || isa<mp::ConstantOp>(op) ||
        isRectified(op->getResult(0)) || isCutByCodes(op->getResult(0)))
      return;
    Value twin = byName.lookup(getTensorName(op->getResult(0)));
    if (!twin)
      return;
    Operation *rectifier = twin.getDefiningOp();
    if (!hasRole(rectifier, Role::Rectifier)) {
      if (!twin.hasOneUse())
        return;
      rectifier = *twin.getUsers().begin();
    }
    if (hasRole(rectifier, Role::Rectifier))
      op->setAttr(kLostRectifierAttr,
                  Builder(op).getStringAttr(getOpName(rectifier)));
  });
}

/// The float model's weight has the name of the codes or the numbers without
/// what a quantiser adds.
Value FloatTwin::findWeight(mp::DequantizeOp op) const {
  for (Value value : {op.getInput(), op.getResult()}) {
    std::string name = getTensorName(value);
    if (Value found = byName.lookup(name))
      return found;
    for (StringRef ending : {"_quantized", "_DequantizeLinear_Output", ".codes",
                             ".dq", "_q", "_dq", "_Q4", "_Q8"})
      if (StringRef(name).ends_with(ending))
        if (Value found =
                byName.lookup(StringRef(name).drop_back(ending.size())))
          return found;
  }
  return {};
}

void FloatTwin::noteWeight(mp::DequantizeOp op, const RangeAnalysis &own,
                           const RangeAnalysis &ranges) {
  Value weight = findWeight(op);
  if (!weight)
    return;
  std::optional<WeightView> numbers = own.context().weights(op.getResult()),
                            exact = ranges.context().weights(weight);
  if (!numbers || !exact || numbers->shape != exact->shape ||
      numbers->splat != exact->splat || exact->size() == 0)
    return;
  std::vector<double> stored = readAll(*numbers), meant = readAll(*exact);
  double square = 0;
  for (auto [number, other] : llvm::zip_equal(stored, meant))
    square += (number - other) * (number - other);
  op->setAttr(kWeightErrorAttr,
              Builder(op).getF64FloatAttr(square / double(stored.size())));
}

void FloatTwin::noteWeights() {
  AnalysisManager analyses = manager, ownAnalyses = ownManager;
  const auto &ranges = analyses.getAnalysis<RangeAnalysis>();
  const auto &own = ownAnalyses.getAnalysis<RangeAnalysis>();
  codes.walk([&](mp::DequantizeOp op) {
    if (isConstant(op.getInput()))
      noteWeight(op, own, ranges);
  });
}

static llvm::StringSet<> outputsOf(ModuleOp module) {
  llvm::StringSet<> names;
  for (auto function : module.getOps<FunctionOpInterface>())
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (auto name =
              function.getResultAttrOfType<StringAttr>(index, "mp.name"))
        names.insert(name.getValue());
  return names;
}

void FloatTwin::compareOutputs(std::vector<std::string> &warnings) {
  llvm::StringSet<> here = outputsOf(codes), there = outputsOf(floats);
  for (const auto &name : there)
    if (!here.contains(name.getKey()))
      warnings.push_back("lacks the output '" + name.getKey().str() +
                         "' of the float model");
  for (const auto &name : here)
    if (!there.contains(name.getKey()))
      warnings.push_back("has the output '" + name.getKey().str() +
                         "', which the float model lacks");
}

llvm::Error mpopt::compareWithFloat(const Options &options, StringRef path,
                                    ModuleOp module,
                                    std::vector<std::string> &warnings) {
  if (!isQuantized(module))
    return llvm::createStringError(
        "--against: the model is not quantised, there is nothing to compare "
        "with a float model");
  ImportResult imported =
      importModel(path, options.import, *module.getContext());
  if (!imported.module || !imported.errors.empty())
    return llvm::createStringError("--against: " + path + ": " +
                                   (imported.errors.empty()
                                        ? "the model cannot be imported"
                                        : imported.errors.front().str()));
  if (isQuantized(*imported.module))
    return llvm::createStringError("--against: " + path +
                                   ": is quantised itself");
  FloatTwin twin(*imported.module, module);
  twin.noteRectifiers();
  twin.noteWeights();
  twin.compareOutputs(warnings);
  return llvm::Error::success();
}
