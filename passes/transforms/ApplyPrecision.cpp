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

namespace mpopt {
#define GEN_PASS_DEF_APPLYPRECISION
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

static constexpr std::pair<Precision, llvm::StringLiteral> kNames[] = {
    {Precision::AsIs, "as-is"},
    {Precision::Fp16, "fp16"},
    {Precision::Bf16, "bf16"},
    {Precision::AutocastFp16, "autocast-fp16"},
    {Precision::AutocastBf16, "autocast-bf16"}};

StringRef mpopt::toString(Precision precision) {
  for (auto &[value, name] : kNames)
    if (value == precision)
      return name;
  llvm_unreachable("every precision has a name");
}

std::optional<Precision> mpopt::parsePrecision(StringRef text) {
  for (auto &[value, name] : kNames)
    if (name == text)
      return value;
  return std::nullopt;
}

/// True if an op only stores or converts its operands.
static bool isStorage(Operation *op) {
  return isa<mp::ConstantOp, mp::CastOp, mp::IdentityOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>() ||
         hasRole(op, Role::Quantization);
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

Precision mpopt::resolvePrecision(ModuleOp module) {
  if (hasRegions(module))
    return Precision::AsIs;
  WalkResult result = module.walk([](Operation *op) {
    auto isLow = [](Value value) {
      return isLowPrecision(getElementType(value));
    };
    if (isStorage(op) || (llvm::none_of(op->getOperands(), isLow) &&
                          llvm::none_of(op->getResults(), isLow)))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return result.wasInterrupted() ? Precision::AsIs : Precision::AutocastFp16;
}

static std::unique_ptr<PrecisionStrategy>
makeStrategy(ModuleOp module, Precision precision, const Policy &policy,
             const Categories &categories, FloatType lowType) {
  bool plain = precision == Precision::Fp16 || precision == Precision::Bf16;
  switch (policy.getKind()) {
  case PolicyKind::Converter:
    // Converters have one way only, be it asked for as fp16 or autocast-fp16.
    return makeStorageConversion(categories, lowType, /*all=*/false);
  case PolicyKind::Autocast:
    if (!plain)
      return makeAutocast(categories, lowType);
    break;
  case PolicyKind::GraphColoring:
    if (!plain)
      return makeGraphColoring(module, categories, lowType);
    break;
  }
  return makeStorageConversion(categories, lowType, /*all=*/true);
}

LogicalResult mpopt::applyPrecision(ModuleOp module, Precision precision,
                                    const Policy &policy) {
  MLIRContext *context = module.getContext();
  Categories categories(module, policy);
  categories.annotate(module);
  module->setAttr("mp.precision",
                  StringAttr::get(context, toString(precision)));
  module->setAttr("mp.policy", StringAttr::get(context, policy.getName()));
  if (precision == Precision::AsIs) {
    if (policy.getKind() != PolicyKind::Autocast || !hasRegions(module))
      return success();
    std::unique_ptr<PrecisionStrategy> regions = makeAutocast(
        categories, Float16Type::get(context), /*everywhere=*/false);
    return rewritePrecision(module, *regions);
  }
  bool isBf16 =
      precision == Precision::Bf16 || precision == Precision::AutocastBf16;
  auto lowType = isBf16 ? FloatType(BFloat16Type::get(context))
                        : FloatType(Float16Type::get(context));
  module->setAttr(kLowTypeAttr, TypeAttr::get(lowType));
  std::unique_ptr<PrecisionStrategy> strategy =
      makeStrategy(module, precision, policy, categories, lowType);
  return rewritePrecision(module, *strategy);
}

namespace {
struct ApplyPrecision : mpopt::impl::ApplyPrecisionBase<ApplyPrecision> {
  using ApplyPrecisionBase::ApplyPrecisionBase;

  void runOnOperation() override {
    std::optional<Precision> precision = mode == "auto"
                                             ? resolvePrecision(getOperation())
                                             : parsePrecision(mode);
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
