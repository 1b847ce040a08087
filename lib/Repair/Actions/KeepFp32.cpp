//===- KeepFp32.cpp - Ops that stay in FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As converters treat the nodes of a block list, whatever precision the module
// is judged in: an island of f32 between casts. Islands that touch are one.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Repair/Fix.h"

#include "mpopt/Dialect/Casts.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

namespace {
class Islands {
public:
  Islands(ModuleOp module, ArrayRef<KeptOp> ops);

  LogicalResult run();

private:
  LogicalResult keep(Operation *op);
  void keepCast(CastOp cast);
  Value widen(Value value);
  bool isStoredNarrowly(Value value) const;
  void narrow(Value result, Type before);

  ModuleOp module;
  llvm::DenseSet<Operation *> kept;
  llvm::DenseMap<Operation *, ArrayRef<unsigned>> operands;
  /// A value in the dtype that it had, to the same in f32.
  llvm::DenseMap<Value, Value> wide;
  CastInserter casts;
  /// True if kept results are returned in f32: the file does not fix the types
  /// that it returns.
  bool returnsWide;
  /// The format in which inputs of the file's float32 are stored; null if they
  /// are as the file has them.
  Type storedInputs;
  ShapeFacts facts;
};
} // namespace

Islands::Islands(ModuleOp module, ArrayRef<KeptOp> ops) : module(module) {
  for (const KeptOp &op : ops) {
    kept.insert(op.op);
    if (!op.operands.empty())
      operands[op.op] = op.operands;
  }
  auto precision = module->getAttrOfType<StringAttr>("mp.precision");
  returnsWide = precision && precision.getValue() != "as-is";
  if (auto low = module->getAttrOfType<TypeAttr>(kLowTypeAttr);
      low && precision && !precision.getValue().starts_with("autocast"))
    storedInputs = low.getValue();
}

/// A cast of a wider float to a narrower one that the precision brought.
static CastOp getNarrowing(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || cast.getOrigin() == CastOrigin::Model)
    return {};
  auto from = dyn_cast<FloatType>(getElementType(cast.getInput()));
  auto to = dyn_cast<FloatType>(getElementType(value));
  return from && to && from.getWidth() > to.getWidth() ? cast : CastOp();
}

/// True for an input of the model that only the precision narrows.
bool Islands::isStoredNarrowly(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && storedInputs && getElementType(value) == storedInputs &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

Value Islands::widen(Value value) {
  if (Value known = wide.lookup(value))
    return known;
  if (isStoredNarrowly(value)) {
    // The interface is the converter's own: as a result that is kept.
    Type before = getElementType(value);
    value.setType(
        withElementType(value.getType(), Float32Type::get(value.getContext())));
    narrow(value, before);
    return value;
  }
  if (!isLowPrecision(getElementType(value))) {
    // Widened by the precision already: perhaps after it had been narrowed.
    auto cast = value.getDefiningOp<CastOp>();
    Value known = cast && cast.getOrigin() != CastOrigin::Model
                      ? wide.lookup(cast.getInput())
                      : Value();
    return known && known.getType() == value.getType() ? known : value;
  }
  if (CastOp cast = getNarrowing(value))
    if (getElementType(cast.getInput()).isF32())
      return cast.getInput();
  return casts.get(value, Float32Type::get(value.getContext()),
                   CastOrigin::Policy);
}

/// Gives the readers of `result` that are not kept what they had; but casts of
/// the backward graph that widen it take it as it is, since the gradient of
/// what was not narrowed is not narrowed either.
void Islands::narrow(Value result, Type before) {
  for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
    if (auto cast = dyn_cast<CastOp>(use.getOwner());
        cast && cast->hasAttr(kBackwardAttr) &&
        cast.getOrigin() != CastOrigin::Model &&
        cast.getType() == result.getType())
      kept.insert(cast);
  auto isKept = [&](OpOperand &use) { return kept.contains(use.getOwner()); };
  auto isReturn = [&](OpOperand &use) {
    Operation *owner = use.getOwner();
    return returnsWide && owner->hasTrait<OpTrait::IsTerminator>() &&
           isa<FunctionOpInterface>(owner->getParentOp());
  };
  if (llvm::all_of(result.getUses(), [&](OpOperand &use) {
        return isReturn(use) || isKept(use);
      }))
    return;
  Value stored = casts.get(result, before, CastOrigin::Policy);
  wide[stored] = result;
  result.replaceUsesWithIf(stored, [&](OpOperand &use) {
    return use.getOwner() != stored.getDefiningOp() && !isReturn(use) &&
           !isKept(use);
  });
}

/// A cast that the model has itself.
void Islands::keepCast(CastOp cast) {
  Value input = cast.getInput(), result = cast.getResult();
  Type from = getElementType(input), to = getElementType(result);
  if (!isLowPrecision(to) || isLowPrecision(from) || isUnknown(from))
    return;
  if (from.isF32()) {
    // Kept readers read the cast's input.
    wide[result] = input;
    return;
  }
  // Integers that 16 bits do not hold.
  result.setType(
      getTensorType(getShape(result), Float32Type::get(cast.getContext())));
  cast->setAttr("mp.kept", UnitAttr::get(cast.getContext()));
  narrow(result, to);
}

LogicalResult Islands::keep(Operation *op) {
  if (auto cast = dyn_cast<CastOp>(op))
    return keepCast(cast), success();
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!precision || op->getNumRegions() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return success();
  ArrayRef<unsigned> only = operands.lookup(op);
  for (OpOperand &operand : op->getOpOperands())
    if ((only.empty() ||
         llvm::is_contained(only, operand.getOperandNumber())) &&
        isa<FloatType>(getElementType(operand.get())))
      operand.set(widen(operand.get()));
  SmallVector<Type> before = llvm::map_to_vector(
      op->getResults(), [](Value result) { return getElementType(result); });
  if (failed(inferTypes(op, facts)))
    return failure();
  // For rules that would take its parameters to be stored in 16 bits.
  op->setAttr("mp.kept", UnitAttr::get(op->getContext()));
  for (auto [result, type] : llvm::zip(op->getResults(), before))
    if (getElementType(result) != type)
      narrow(result, type);
  return success();
}

LogicalResult Islands::run() {
  SmallVector<Operation *> order;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (kept.contains(op))
      order.push_back(op);
  });
  for (Operation *op : order)
    if (failed(keep(op)))
      return failure();
  casts.eraseUnused();
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      function.setType(
          function.cloneTypeWith(function.getFunctionBody().getArgumentTypes(),
                                 function.getFunctionBody()
                                     .front()
                                     .getTerminator()
                                     ->getOperandTypes()));
  return success();
}

LogicalResult mpopt::keepInFp32(ModuleOp module, ArrayRef<KeptOp> ops) {
  return Islands(module, ops).run();
}
