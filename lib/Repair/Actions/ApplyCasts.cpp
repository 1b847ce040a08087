//===- ApplyCasts.cpp - Islands of a wider type
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As converters treat the nodes of a block list, whatever precision the module
// is judged in: an island of f32 between casts. Islands that touch are one.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Repair/CastPlan.h"

#include "mpopt/Dialect/Casts.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/LoopFlows.h"
#include "mpopt/Propagate/LoopStates.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

namespace {
class Islands {
public:
  Islands(ModuleOp module, const CastPlan &plan,
          function_ref<Operation *(Operation *)> find);

  LogicalResult run();

private:
  LogicalResult keep(Operation *op, const OpCasts &casts);
  bool keepsState(Value result) const;
  void keepStates(Operation *loop);
  void yieldWide(Operation *loop, unsigned index);
  void keepCast(CastOp cast, Type wanted);
  Value widen(Value value, FloatType wanted);
  bool isStoredNarrowly(Value value) const;
  void narrow(Value result, Type before);

  ModuleOp module;
  /// Null for casts that follow from others.
  llvm::DenseMap<Operation *, const OpCasts *> kept;
  /// A value in the dtype that it had, to the same in the wider one.
  llvm::DenseMap<Value, Value> wide;
  CastInserter inserter;
  /// The loops and numbers of the states that they carry in f32.
  SmallVector<std::pair<Operation *, unsigned>> wideStates;
  /// True if kept results are returned in f32: the file does not fix the types
  /// that it returns.
  bool returnsWide;
  /// The format in which inputs of the file's float32 are stored; null if they
  /// are as the file has them.
  Type storedInputs;
  ShapeFacts facts;
};
} // namespace

Islands::Islands(ModuleOp module, const CastPlan &plan,
                 function_ref<Operation *(Operation *)> find)
    : module(module) {
  for (const auto &[op, casts] : plan)
    kept[find(op)] = &casts;
  const Precision &precision = getPrecision(module);
  returnsWide = !precision.isAsIs();
  if (auto low = module->getAttrOfType<TypeAttr>(kLowTypeAttr);
      low && !precision.weights.empty())
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

Value Islands::widen(Value value, FloatType wanted) {
  Value known = wide.lookup(value);
  if (known && getElementType(known) == wanted)
    return known;
  if (isStoredNarrowly(value)) {
    // The interface is the converter's own: as a result that is kept.
    Type before = getElementType(value);
    value.setType(withElementType(value.getType(), wanted));
    narrow(value, before);
    return value;
  }
  if (cast<FloatType>(getElementType(value)).getWidth() >= wanted.getWidth()) {
    // Widened by the precision already: perhaps after it had been narrowed.
    auto cast = value.getDefiningOp<CastOp>();
    Value known = cast && cast.getOrigin() != CastOrigin::Model
                      ? wide.lookup(cast.getInput())
                      : Value();
    return known && known.getType() == value.getType() ? known : value;
  }
  if (CastOp cast = getNarrowing(value))
    if (getElementType(cast.getInput()) == wanted)
      return cast.getInput();
  return inserter.get(value, wanted, CastOrigin::Policy);
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
      kept.try_emplace(cast, nullptr);
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
  Value stored = inserter.get(result, before, CastOrigin::Policy);
  wide[stored] = result;
  result.replaceUsesWithIf(stored, [&](OpOperand &use) {
    return use.getOwner() != stored.getDefiningOp() && !isReturn(use) &&
           !isKept(use);
  });
}

/// A cast that the model has itself.
void Islands::keepCast(CastOp cast, Type wanted) {
  Value input = cast.getInput(), result = cast.getResult();
  Type from = getElementType(input), to = getElementType(result);
  if (!isLowPrecision(to) || isLowPrecision(from) || isUnknown(from))
    return;
  if (from == wanted) {
    // Kept readers read the cast's input.
    wide[result] = input;
    return;
  }
  // Integers that 16 bits do not hold.
  result.setType(getTensorType(getShape(result), wanted));
  cast->setAttr("mp.kept", UnitAttr::get(cast.getContext()));
  narrow(result, to);
}

LogicalResult Islands::keep(Operation *op, const OpCasts &casts) {
  if (auto cast = dyn_cast<CastOp>(op))
    return keepCast(cast, casts.type), success();
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!precision || op->getNumRegions() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return success();
  ArrayRef<unsigned> only = casts.operands;
  for (OpOperand &operand : op->getOpOperands())
    if ((only.empty() ||
         llvm::is_contained(only, operand.getOperandNumber())) &&
        isa<FloatType>(getElementType(operand.get())))
      operand.set(widen(operand.get(), casts.type));
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

/// True for the last value of a state that only kept ops carry on.
bool Islands::keepsState(Value result) const {
  std::optional<LoopState> state = findLoopState(result);
  return state && !state->ops.empty() &&
         isLowPrecision(getElementType(result)) &&
         llvm::all_of(state->ops, [&](Operation *op) {
           return isInserted(op) || kept.contains(op);
         });
}

/// Carries those states of a loop in f32. What they are at the end of a trip
/// follows when its ops have their types.
void Islands::keepStates(Operation *loop) {
  std::optional<LoopFlows> flows = getLoopFlows(loop);
  if (!flows)
    return;
  auto wanted = Float32Type::get(loop->getContext());
  for (auto [index, carried] : llvm::enumerate(flows->back)) {
    Value result = loop->getResult(index), argument = carried.second;
    if (!keepsState(result))
      continue;
    unsigned initial = flows->firstInitial + index;
    loop->setOperand(initial, widen(loop->getOperand(initial), wanted));
    for (Value value : {argument, result}) {
      Type before = getElementType(value);
      value.setType(withElementType(value.getType(), wanted));
      narrow(value, before);
    }
    wideStates.push_back({loop, index});
  }
}

void Islands::yieldWide(Operation *loop, unsigned index) {
  LoopFlows flows = *getLoopFlows(loop);
  Operation *end = flows.body->getTerminator();
  auto [yielded, argument] = flows.back[index];
  auto element = cast<FloatType>(getElementType(argument));
  unsigned operand = flows.firstYielded + index;
  end->setOperand(operand, widen(yielded, element));
}

LogicalResult Islands::run() {
  SmallVector<Operation *> order;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (kept.contains(op))
      order.push_back(op);
    else
      keepStates(op);
  });
  for (Operation *op : order)
    if (failed(keep(op, *kept.lookup(op))))
      return failure();
  for (auto [loop, index] : wideStates)
    yieldWide(loop, index);
  inserter.eraseUnused();
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

LogicalResult mpopt::applyCasts(ModuleOp module, const CastPlan &plan,
                                function_ref<Operation *(Operation *)> find) {
  return Islands(module, plan, find).run();
}
