//===- CompareFloat.cpp - A quantised model beside its float model
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of both are the same by their names, as quantisers leave them. Not
// covered: ops that a quantiser renames or fuses.
//
//===----------------------------------------------------------------------===//

#include "CompareFloat.h"

#include "CompareConstants.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

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
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        for (BlockArgument input : function.getArguments())
          byName[getTensorName(input)] = input;
    });
  }

  void noteRectifiers();
  void copyAssumptions();
  void noteConstants();
  void compareOutputs(std::vector<std::string> &warnings);

private:
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

/// Inputs of both are alike: one that is quantised at once is as its codes say.
void FloatTwin::copyAssumptions() {
  for (auto function : codes.getOps<FunctionOpInterface>())
    for (BlockArgument input : function.getArguments()) {
      auto twin = llvm::dyn_cast_if_present<BlockArgument>(
          byName.lookup(getTensorName(input)));
      auto owner =
          twin ? dyn_cast<FunctionOpInterface>(twin.getOwner()->getParentOp())
               : FunctionOpInterface();
      if (DictionaryAttr assumed = getAssumption(input);
          assumed && owner && twin.getType() == input.getType())
        owner.setArgAttr(twin.getArgNumber(), "mp.assume", assumed);
    }
}

void FloatTwin::noteConstants() {
  AnalysisManager analyses = manager, ownAnalyses = ownManager;
  compareConstants(codes, ownAnalyses.getAnalysis<RangeAnalysis>(), byName,
                   analyses.getAnalysis<RangeAnalysis>());
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
  twin.copyAssumptions();
  twin.noteConstants();
  twin.compareOutputs(warnings);
  return llvm::Error::success();
}
