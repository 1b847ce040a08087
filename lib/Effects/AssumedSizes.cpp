//===- AssumedSizes.cpp - Sizes for dims that are open
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AssumedSizes.h"

#include "OutputGradients.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Ranges/Value/OpenAxis.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Sizes that matter
//===----------------------------------------------------------------------===//

/// True if the axis, or any if there is no such axis, is open.
static bool isOpen(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return true;
  if (std::optional<int64_t> at = normalizeAxis(axis, shape->size()))
    return (*shape)[*at] < 0;
  return llvm::is_contained(*shape, kDynamic);
}

/// The same of any axis but the leading one.
static bool isOpenInside(Value value) {
  MaybeShape shape = getShape(value);
  return !shape || llvm::any_of(llvm::drop_begin(*shape, !shape->empty()),
                                [](int64_t dim) { return dim < 0; });
}

static bool sumsOpenDim(Operation *op, const ShapeFacts &facts) {
  if (op->getNumOperands() == 0)
    return false;
  Value input = op->getOperand(0);
  if (auto product = dyn_cast<mp::MatMulOp>(op))
    return isOpen(input, product.getTransA() ? -2 : -1);
  if (isa<mp::EinsumOp>(op))
    return llvm::any_of(op->getOperands(), isOpenInside);
  if (hasRole(op, Role::Softmax | Role::RowNorm | Role::Attention |
                      Role::Recurrent)) {
    auto axis = op->getAttrOfType<IntegerAttr>("axis");
    return axis ? isOpen(input, axis.getInt()) : isOpenInside(input);
  }
  if (!hasRole(op, Role::Sum | Role::MagnitudeSum | Role::SumOfSquares |
                       Role::Statistic | Role::ExponentialSum) ||
      hasRole(op, Role::BatchNorm))
    return false;
  if (!hasRole(op, Role::Reduction))
    return isOpenInside(input);
  auto axes = getReducedAxes(op, facts);
  return !axes ? isOpenInside(input) : llvm::any_of(*axes, [&](int64_t axis) {
    return axis > 0 && isOpen(input, axis);
  });
}

bool mpopt::sizesMatter(ModuleOp module, const ShapeFacts &facts) {
  auto function = cast<FunctionOpInterface>(findReturn(module)->getParentOp());
  return llvm::any_of(function.getArguments(), isOpenInside) &&
         llvm::any_of(function.getFunctionBody().front(),
                      [&](Operation &op) { return sumsOpenDim(&op, facts); });
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {
/// An open dim of inputs: all that have the same name.
struct OpenDim {
  bool leads = true;
  bool isNamedBatch = false;
};
} // namespace

using OpenDims =
    llvm::MapVector<std::string, OpenDim, std::map<std::string, unsigned>>;

/// The name of an input's dim: the model's own, or one by its place.
static std::string nameOf(FunctionOpInterface function, unsigned input,
                          size_t axis) {
  auto names = function.getArgAttrOfType<ArrayAttr>(input, "mp.dim_params");
  if (names && axis < names.size())
    if (auto name = dyn_cast<StringAttr>(names[axis]);
        name && !name.getValue().empty())
      return name.str();
  auto own = function.getArgAttrOfType<StringAttr>(input, "mp.name");
  return (own ? own.str() : "input " + llvm::utostr(input)) + " dim " +
         llvm::utostr(axis);
}

static OpenDims findOpenDims(FunctionOpInterface function) {
  OpenDims dims;
  for (BlockArgument argument : function.getArguments()) {
    MaybeShape shape = getShape(argument);
    if (!shape)
      continue;
    for (auto [axis, dim] : llvm::enumerate(*shape)) {
      if (dim >= 0)
        continue;
      std::string name = nameOf(function, argument.getArgNumber(), axis);
      OpenDim &open = dims[name];
      open.leads &= axis == 0 && shape->size() > 1;
      open.isNamedBatch = StringRef(name).contains_insensitive("batch");
    }
  }
  return dims;
}

/// True if nothing became empty that was not.
static bool fits(ModuleOp module, const IRMapping &mapping) {
  for (auto [from, to] : mapping.getValueMap()) {
    MaybeShape before = getShape(from), after = getShape(to);
    if (after && llvm::is_contained(*after, 0) &&
        !(before && llvm::is_contained(*before, 0)))
      return false;
  }
  return true;
}

static std::optional<SizedCopy> trySize(ModuleOp module, const OpenDims &dims,
                                        int64_t size) {
  bool named = llvm::any_of(
      dims, [](const auto &dim) { return dim.second.isNamedBatch; });
  SizedCopy sized;
  sized.module = cast<ModuleOp>(module->clone(sized.mapping));
  auto sizeOf = [&](const OpenDim &dim) {
    return (named ? dim.isNamedBatch : dim.leads) ? 1 : size;
  };
  for (const auto &[name, dim] : dims)
    sized.sizes.push_back({name, sizeOf(dim)});
  auto function =
      cast<FunctionOpInterface>(findReturn(*sized.module)->getParentOp());
  for (BlockArgument argument : function.getArguments()) {
    MaybeShape shape = getShape(argument);
    if (!shape)
      return std::nullopt;
    for (auto [axis, dim] : llvm::enumerate(*shape))
      if (dim < 0)
        dim = sizeOf(
            dims.lookup(nameOf(function, argument.getArgNumber(), axis)));
    argument.setType(getTensorType(shape, getElementType(argument)));
  }
  ShapeFacts facts = findAssumedElements(function).value_or(ShapeFacts());
  if (failed(inferAllTypes(*sized.module, std::move(facts))) ||
      !fits(*sized.module, sized.mapping))
    return std::nullopt;
  for (auto [from, to] : sized.mapping.getValueMap())
    sized.change.originals[to] = from;
  return sized;
}

std::optional<SizedCopy> mpopt::assumeSizes(ModuleOp module) {
  auto function = cast<FunctionOpInterface>(findReturn(module)->getParentOp());
  OpenDims dims = findOpenDims(function);
  if (dims.empty())
    return std::nullopt;
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  // Tokens and pixels; frames of a spectrogram or a small image where filters
  // are longer; samples of a second of speech.
  for (int64_t size : {int64_t(kOpenAxis), int64_t(1024), int64_t(16384)})
    if (std::optional<SizedCopy> sized = trySize(module, dims, size))
      return sized;
  return std::nullopt;
}
