//===- Autocast.cpp - PyTorch's autocast, op by op
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The behaviour of `torch.autocast` when an op is dispatched: listed ops get
// their eligible operands cast (floats other than float64), the others run with
// what they are given, under the usual type promotion. Source: PyTorch
// aten/src/ATen/autocast_mode.h and c10/core/ScalarType.h (promoteTypes),
// aten/src/ATen/native/TypeProperties.cpp (which operands take part).
//
// Promotion looks at tensors with dims first, then at 0-dim tensors, then at
// numbers: `half_tensor * 0.5` stays half. Files have no numbers. Exporters
// write them as constants of one element, so such a constant follows the
// tensors here, even if its shape is [1]: a model's own one-element parameter
// is rarer than a number, and the dtype it would spread is the same that its
// user would have got with a number.
//
// Not modelled: in-place and out= overloads (a file has none), the cache of
// weight casts (no effect on values).
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/precision/Strategy.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CustomOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

namespace {
class Autocast : public PrecisionStrategy {
public:
  Autocast(const Categories &categories, FloatType lowType, bool everywhere)
      : PrecisionStrategy(categories, lowType), everywhere(everywhere) {}

  void rewriteOperands(Operation *op) override;
  bool promotesAtJoins() const override { return true; }

private:
  void castEligible(Operation *op, Type elementType);
  void promoteListed(Operation *op, FloatType low);
  void promote(Operation *op);

  bool everywhere;
};

/// How much an operand has to say in type promotion.
enum class Weight { Number, Scalar, Tensor };
} // namespace

/// A 16- or 32-bit float: what autocast casts. The 8-bit formats live in
/// quantised graphs, which autocast does not touch.
static bool isEligible(Value value) {
  Type type = getElementType(value);
  return type.isF32() || type.isF16() || type.isBF16();
}

/// In an unlisted composite (instance_norm), parameters of any size follow: the
/// composite gives its input's dtype, whatever its parameters have.
static Weight getWeight(OpOperand &operand) {
  Value value = operand.get(), source = value;
  // In a long chain of views each value would be followed to its start.
  constexpr unsigned kMaxMoves = 16;
  for (unsigned moves = 0; moves < kMaxMoves; ++moves) {
    Operation *op = source.getDefiningOp();
    if (!op)
      break;
    if (!isa<CastOp, IdentityOp>(op) && !isViewLike(op))
      break;
    source = op->getOperand(0);
  }
  MaybeShape shape = getShape(value);
  if (source.getDefiningOp<ConstantOp>() &&
      (getNumElements(shape) == 1 || getIdiom(operand.getOwner())))
    return Weight::Number;
  return shape && shape->empty() ? Weight::Scalar : Weight::Tensor;
}

void Autocast::castEligible(Operation *op, Type elementType) {
  for (OpOperand &operand : op->getOpOperands())
    if (categories.governs(operand) && isEligible(operand.get()))
      casts.castOperand(operand, elementType, CastOrigin::Policy);
}

/// The widest of the low type and f32 among eligible operands. The other 16-bit
/// type makes PyTorch raise an error; what it would have to become is f32.
void Autocast::promoteListed(Operation *op, FloatType low) {
  Type widest = low;
  for (OpOperand &operand : op->getOpOperands())
    if (categories.governs(operand) && isEligible(operand.get()))
      widest = promoteElementTypes(widest, getElementType(operand.get()));
  castEligible(op, widest);
}

void Autocast::promote(Operation *op) {
  // A tensor that is changed in place keeps its dtype.
  if (auto kept = op->getAttrOfType<IntegerAttr>("mp.keeps");
      kept && kept.getInt() < int64_t(op->getNumOperands())) {
    Type own = getElementType(op->getOperand(kept.getInt()));
    for (OpOperand &operand : op->getOpOperands())
      if (isa<FloatType>(own) && categories.governs(operand) &&
          getElementType(operand.get()) != own)
        casts.castOperand(operand, own, CastOrigin::Promotion);
    return;
  }
  SmallVector<std::pair<OpOperand *, Weight>> floats;
  bool mixed = false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!categories.governs(operand))
      continue;
    floats.emplace_back(&operand, getWeight(operand));
    mixed |= getElementType(operand.get()) !=
             getElementType(floats.front().first->get());
  }
  if (!mixed)
    return;
  Weight heaviest = llvm::max_element(floats, llvm::less_second())->second;
  Type widest = UnknownType::get(op->getContext());
  for (auto [operand, weight] : floats)
    if (weight == heaviest)
      widest = promoteElementTypes(widest, getElementType(operand->get()));
  for (auto [operand, weight] : floats)
    casts.castOperand(*operand, widest, CastOrigin::Promotion);
}

void Autocast::rewriteOperands(Operation *op) {
  // Bodies' ends and what bodies get are the rewriter's to reconcile; a cast
  // converts whatever it gets; an unknown op is left as it is.
  if (!isa<PrecisionOpInterface>(op) || op->getNumRegions() ||
      op->hasTrait<OpTrait::IsTerminator>() ||
      isa<CastOp, OpaqueOp, CustomOp>(op))
    return;
  // A region of the model's own (`mp.autocast`: its dtype, or `false` where it
  // is switched off) says more than what is asked for the rest.
  FloatType low = everywhere ? lowType : FloatType();
  if (Attribute region = op->getAttr("mp.autocast")) {
    auto type = dyn_cast<TypeAttr>(region);
    low = type ? dyn_cast<FloatType>(type.getValue()) : FloatType();
  }
  std::optional<Category> category =
      low ? categories.get(op) : std::optional<Category>();
  if (!category)
    return promote(op);
  switch (*category) {
  case Category::Fp32:
    return castEligible(op, Float32Type::get(op->getContext()));
  case Category::Lower:
    return castEligible(op, low);
  case Category::Promote:
    return promoteListed(op, low);
  default: // PyTorch raises an error whatever the dtype, which a rule reports
    op->setAttr("mp.refused", UnitAttr::get(op->getContext()));
    return;
  }
}

std::unique_ptr<PrecisionStrategy>
mpopt::makeAutocast(const Categories &categories, FloatType lowType,
                    bool everywhere) {
  return std::make_unique<Autocast>(categories, lowType, everywhere);
}
