//===- ApplyPrecision.cpp - Judge a model under another arithmetic
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the strategy for a mode and a policy, and leaves behind what rules
// read: categories on the ops, precision and policy on the module.
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/ApplyPrecision.h"

#include "passes/transforms/Passes.h"
#include "passes/transforms/precision/Strategy.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"

#include "mlir/AsmParser/AsmParser.h"

namespace mpopt {
#define GEN_PASS_DEF_APPLYPRECISION
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// True if an op only stores or converts its operands.
static bool isStorage(Operation *op) {
  return isa<mp::ConstantOp, mp::CastOp, mp::IdentityOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// True if the model switches autocast on or off itself.
static bool hasRegions(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return op->hasAttr("mp.autocast") ? WalkResult::interrupt()
                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The policy that is meant where none is named.
static StringRef getDefaultPolicy(ModuleOp module) {
  auto device = module->getAttrOfType<StringAttr>("mp.autocast_device");
  return device && device.getValue() == "cpu" ? "pytorch-cpu-2.14"
                                              : "pytorch-cuda-2.14";
}

const Precision &mpopt::resolvePrecision(ModuleOp module) {
  if (hasRegions(module) || isQuantized(module))
    return Precision::asIs();
  WalkResult result = module.walk([](Operation *op) {
    auto isLow = [](Value value) {
      return isLowPrecision(getElementType(value));
    };
    if (isStorage(op) || (llvm::none_of(op->getOperands(), isLow) &&
                          llvm::none_of(op->getResults(), isLow)))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return result.wasInterrupted() ? Precision::asIs()
                                 : *Precision::byName("autocast-fp16");
}

/// Those of the converters are FP16's: they write no other narrow dtype.
static ConstantLimits limitsOf(const Policy &policy, FloatType lowType) {
  ConstantLimits limits;
  if (lowType.isF16()) {
    limits.least = policy.getMinPositive().value_or(limits.least);
    limits.most = policy.getMaxFinite().value_or(limits.most);
  }
  return limits;
}

static std::unique_ptr<PrecisionStrategy>
makeStrategy(ModuleOp module, bool byPolicy, const Policy &policy,
             const Categories &categories, FloatType lowType) {
  switch (policy.getKind()) {
  case PolicyKind::Converter:
    // Converters have one way only, be it asked for as fp16 or autocast-fp16.
    return makeStorageConversion(categories, lowType, /*all=*/false,
                                 limitsOf(policy, lowType));
  case PolicyKind::Autocast:
    if (byPolicy)
      return makeAutocast(categories, lowType);
    break;
  case PolicyKind::GraphColoring:
    if (byPolicy)
      return makeGraphColoring(module, categories, lowType);
    break;
  }
  return makeStorageConversion(categories, lowType, /*all=*/true);
}

LogicalResult mpopt::applyPrecision(ModuleOp module, const Precision &precision,
                                    const Policy &policy) {
  MLIRContext *context = module.getContext();
  Categories categories(module, policy);
  categories.annotate(module);
  module->setAttr(kPrecisionAttr, StringAttr::get(context, precision.name));
  module->setAttr("mp.policy", StringAttr::get(context, policy.getName()));
  if (precision.isAsIs()) {
    if (policy.getKind() != PolicyKind::Autocast || !hasRegions(module))
      return success();
    std::unique_ptr<PrecisionStrategy> regions = makeAutocast(
        categories, Float16Type::get(context), /*everywhere=*/false);
    return rewritePrecision(module, *regions);
  }
  if (precision.operands) {
    scaleOperands(module);
    return success();
  }
  auto lowType = cast<FloatType>(parseType(precision.activations, context));
  module->setAttr(kLowTypeAttr, TypeAttr::get(lowType));
  std::unique_ptr<PrecisionStrategy> strategy =
      makeStrategy(module, precision.byPolicy, policy, categories, lowType);
  return rewritePrecision(module, *strategy);
}

namespace {
struct ApplyPrecision : mpopt::impl::ApplyPrecisionBase<ApplyPrecision> {
  using ApplyPrecisionBase::ApplyPrecisionBase;

  void runOnOperation() override {
    const Precision *precision = mode == "auto"
                                     ? &resolvePrecision(getOperation())
                                     : Precision::byName(mode);
    if (!precision) {
      getOperation().emitError("unknown precision '") << mode << "'";
      return signalPassFailure();
    }
    llvm::Expected<Policy> table = Policy::load(
        policy.empty() ? getDefaultPolicy(getOperation()) : StringRef(policy));
    if (!table) {
      getOperation().emitError(llvm::toString(table.takeError()));
      return signalPassFailure();
    }
    if (failed(applyPrecision(getOperation(), *precision, *table)))
      signalPassFailure();
  }
};
} // namespace
