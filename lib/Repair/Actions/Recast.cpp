//===- Recast.cpp - Fixes that move casts
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a value gets another float type, so does what is computed from it: the
// casts that a promotion had put in are removed and made anew, op by op in
// program order, and those that a policy's list asks for are added.
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "mpopt/Dialect/Casts.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <set>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::fixes;
using namespace mpopt::mp;

static bool is16Bits(Type type) { return isa<Float16Type, BFloat16Type>(type); }
static bool is32Bits(Type type) { return isa<Float32Type, Float64Type>(type); }

//===----------------------------------------------------------------------===//
// Types that follow from a changed one
//===----------------------------------------------------------------------===//

namespace {
class Retyper {
public:
  explicit Retyper(Operation *op);

  /// The op's operands have changed.
  void add(Operation *op) { pending.insert(op); }
  void addReaders(Value value) {
    for (Operation *user : value.getUsers())
      add(user);
  }
  bool run();

private:
  bool update(Operation *op);
  void setOperands(Operation *op);
  bool end(Operation *terminator);

  static bool isBefore(Operation *lhs, Operation *rhs) {
    return lhs != rhs && lhs->isBeforeInBlock(rhs);
  }
  Block *block;
  std::set<Operation *, decltype(&isBefore)> pending{&isBefore};
  ShapeFacts facts;
  bool autocast, asIs;
};
} // namespace

Retyper::Retyper(Operation *op) : block(op->getBlock()) {
  const Precision &precision = getPrecision(op->getParentOfType<ModuleOp>());
  autocast = precision.byPolicy;
  asIs = precision.isAsIs();
}

/// As the policy's list or the usual promotion has it.
void Retyper::setOperands(Operation *op) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!precision || isa<CastOp>(op))
    return;
  SmallVector<OpOperand *> floats;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!precision.isPrecisionOperand(operand.getOperandNumber()) ||
        !isa<FloatType>(getElementType(operand.get())))
      continue;
    auto cast = operand.get().getDefiningOp<CastOp>();
    if (cast && cast.getOrigin() == CastOrigin::Promotion)
      operand.set(cast.getInput());
    floats.push_back(&operand);
  }
  if (!autocast || floats.empty())
    return;
  auto category = op->getAttrOfType<StringAttr>("mp.category");
  bool listed = category && (category.getValue() == "fp32" ||
                             category.getValue() == "lower");
  // Operands that have not changed already have the dtype that the list asks
  // for.
  Type wanted;
  if (listed && category.getValue() == "fp32")
    wanted = Float32Type::get(op->getContext());
  else if (listed)
    wanted = op->getParentOfType<ModuleOp>()
                 ->getAttrOfType<TypeAttr>(kLowTypeAttr)
                 .getValue();
  else
    for (OpOperand *operand : floats) {
      // A number follows the tensors.
      if (getSplatConstant(operand->get()) && floats.size() > 1)
        continue;
      Type type = getElementType(operand->get());
      wanted = wanted ? promoteElementTypes(wanted, type) : type;
    }
  if (!wanted || !isa<FloatType>(wanted))
    return;
  OpBuilder builder(op);
  for (OpOperand *operand : floats)
    operand->set(castTo(builder, operand->get(), wanted,
                        listed ? CastOrigin::Policy : CastOrigin::Promotion));
}

/// A file's result types stay as it declares them; under another precision they
/// follow the values.
bool Retyper::end(Operation *terminator) {
  auto function = dyn_cast<FunctionOpInterface>(terminator->getParentOp());
  if (!function)
    return false; // a body's end
  if (!asIs) {
    function.setType(
        function.cloneTypeWith(function.getFunctionBody().getArgumentTypes(),
                               terminator->getOperandTypes()));
    return true;
  }
  OpBuilder builder(terminator);
  for (auto [operand, type] :
       llvm::zip(terminator->getOpOperands(), function.getResultTypes()))
    if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type)))
      operand.set(castTo(builder, operand.get(), element, CastOrigin::Policy));
  return true;
}

bool Retyper::update(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return end(op);
  if (op->getNumRegions())
    return false;
  SmallVector<Type> before(op->getResultTypes());
  setOperands(op);
  if (isa<CastOp>(op))
    return true; // to what it says
  if (failed(inferTypes(op, facts)))
    return false;
  for (auto [result, type] : llvm::zip(op->getResults(), before))
    if (result.getType() != type)
      addReaders(result);
  return true;
}

bool Retyper::run() {
  while (!pending.empty()) {
    Operation *op = *pending.begin();
    pending.erase(pending.begin());
    if (op->getBlock() != block || !update(op))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The fixes
//===----------------------------------------------------------------------===//

bool fixes::skipCast(Operation *op) {
  auto up = dyn_cast<CastOp>(op);
  // Views in between would have to be widened, too.
  auto down = up ? up.getInput().getDefiningOp<CastOp>() : CastOp();
  if (!down || down.getInput().getType() != up.getResult().getType())
    return false;
  // Ops of the copy stay where they are: findings are told by them.
  up->setOperand(0, down.getInput());
  return true;
}

/// Gives the operands that a promotion governs, and whose type before it is one
/// of `from`, explicit casts. False if there is none.
static bool castExplicitly(Operation *op, bool (*from)(Type), Type to) {
  auto precision = cast<PrecisionOpInterface>(op);
  OpBuilder builder(op);
  bool any = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = peel(operand.get(), Peel::PromotionCasts);
    if (!precision.isPrecisionOperand(operand.getOperandNumber()) ||
        !from(getElementType(value)))
      continue;
    operand.set(castTo(builder, value, to));
    any = true;
  }
  return any;
}

bool fixes::widenExplicitly(Operation *op) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!precision)
    return false;
  Type wide;
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = getElementType(peel(operand.get(), Peel::PromotionCasts));
    if (precision.isPrecisionOperand(operand.getOperandNumber()) &&
        is32Bits(type))
      wide = wide ? promoteElementTypes(wide, type) : type;
  }
  return wide && castExplicitly(op, is16Bits, wide);
}

bool fixes::narrowExplicitly(Operation *op, unsigned narrow) {
  Type type =
      getElementType(peel(op->getOperand(narrow), Peel::PromotionCasts));
  if (!isa<PrecisionOpInterface>(op) || !is16Bits(type))
    return false;
  castExplicitly(op, is32Bits, type);
  Retyper retyper(op);
  retyper.add(op);
  return retyper.run();
}

bool fixes::removeCast(Operation *op, RetiredOps &retired) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast)
    return false;
  Value before = cast.getInput();
  Retyper retyper(op);
  retyper.addReaders(cast.getResult());
  retired.replace(op, before, /*isNew=*/false);
  return retyper.run();
}

bool fixes::castFirst(Ops ops) {
  Operation *op = ops.front();
  auto cast = dyn_cast<CastOp>(ops.back());
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!cast || !precision || ops.size() < 2)
    return false;
  Type wide = getElementType(cast.getResult());
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!precision.isPrecisionOperand(operand.getOperandNumber()) ||
        !is16Bits(getElementType(value)))
      continue;
    // Operands that the precision narrowed are read before the cast.
    auto narrowing = value.getDefiningOp<CastOp>();
    if (narrowing && narrowing.getOrigin() != CastOrigin::Model &&
        getElementType(narrowing.getInput()) == wide)
      operand.set(narrowing.getInput());
    else
      operand.set(castTo(builder, value, wide));
  }
  ShapeFacts facts;
  for (auto [index, next] : llvm::enumerate(ops.drop_back())) {
    Value result = next->getResult(0);
    Type before = getElementType(result);
    if (failed(inferTypes(next, facts)))
      return false;
    // Others get what they had.
    Operation *onward = ops[index + 1];
    if (llvm::all_of(result.getUsers(),
                     [&](Operation *user) { return user == onward; }))
      continue;
    builder.setInsertionPointAfter(next);
    Value stored = castTo(builder, result, before);
    result.replaceUsesWithIf(stored, [&](OpOperand &use) {
      return use.getOwner() != onward &&
             use.getOwner() != stored.getDefiningOp();
    });
  }
  return true;
}
