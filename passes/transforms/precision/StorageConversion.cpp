//===- StorageConversion.cpp - Every value stored in a 16-bit format
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of a converted file: inputs, constants and results of nodes
// are rounded to the low type when they are stored. Two users: the plain modes
// fp16 and bf16, which take every float, and the converters of ONNX files,
// which take FP32 only and leave ops of their block list in FP32 between casts.
//
// A constant keeps its bytes and gets a cast, so that what it loses can be read
// off. Operands that are parameters in a dtype of their own stay as they are.
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/precision/Strategy.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

namespace {
class StorageConversion : public PrecisionStrategy {
public:
  StorageConversion(const Categories &categories, FloatType lowType, bool all,
                    const ConstantLimits &limits)
      : PrecisionStrategy(categories, lowType), all(all), limits(limits) {}

  void convertArgument(BlockArgument argument) override { convert(argument); }
  void rewriteOperands(Operation *op) override;
  void prepareResults(Operation *op) override;
  void finishResults(Operation *op) override;

private:
  bool isConverted(Type elementType) const;
  void convert(Value value);
  void store(OpOperand &operand);
  bool isBlocked(Operation *op) const {
    return categories.get(op) == Category::Block || op->hasAttr(kLossPartAttr);
  }
  void restore(OpOperand &operand, CastOrigin origin);

  bool all;
  ConstantLimits limits;
  /// The type that the model has instead of the low one.
  llvm::DenseMap<Value, Type> originals;
};
} // namespace

bool StorageConversion::isConverted(Type elementType) const {
  if (elementType == lowType || !isa<FloatType>(elementType))
    return false;
  return all ? elementType.getIntOrFloatBitWidth() >= 16 : elementType.isF32();
}

static Type getInnerElement(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return getInnerElement(sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type))
    return getInnerElement(optional.getElementType());
  return getElementType(type);
}

void StorageConversion::convert(Value value) {
  Type elementType = getInnerElement(value.getType());
  if (!isConverted(elementType))
    return;
  originals[value] = elementType;
  value.setType(withElementType(value.getType(), lowType));
}

/// Gives an operand that is not to be stored what was there before, if that is
/// at hand (two blocked ops in a row), else widens it to the model's dtype.
void StorageConversion::restore(OpOperand &operand, CastOrigin origin) {
  auto original = originals.find(operand.get());
  if (original == originals.end())
    return;
  auto stored = operand.get().getDefiningOp<CastOp>();
  if (stored && casts.owns(stored) && stored.getOrigin() == CastOrigin::Policy)
    operand.set(stored.getInput());
  else
    casts.castOperand(operand, original->second, origin);
}

void StorageConversion::store(OpOperand &operand) {
  bool isConstant = operand.get().getDefiningOp<ConstantOp>() != nullptr;
  casts.castOperand(operand, lowType, CastOrigin::Storage);
  if (isConstant && limits)
    setLimits(operand.get().getDefiningOp<CastOp>(), limits);
}

void StorageConversion::rewriteOperands(Operation *op) {
  bool blocked = isBlocked(op);
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  // An op that reads a shape does not mind the dtype.
  bool minds = llvm::any_of(op->getResults(), [](Value result) {
    return isa<FloatType>(getElementType(result));
  });
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<FloatType>(getElementType(operand.get())))
      continue;
    // In the plain modes only what the op itself fixes is exempt: which
    // parameters a framework would have kept is not the question there.
    bool fixed = all ? precision && !precision.isPrecisionOperand(
                                        operand.getOperandNumber())
                     : precision && !categories.governs(operand);
    bool isConstant = operand.get().getDefiningOp<ConstantOp>() != nullptr;
    if (fixed || blocked) {
      // A constant is still what the model has.
      if (!isConstant && (blocked || minds))
        restore(operand, blocked ? CastOrigin::Policy : CastOrigin::Storage);
      continue;
    }
    if (isConverted(getElementType(operand.get())))
      store(operand);
  }
}

void StorageConversion::prepareResults(Operation *op) {
  if (isa<ConstantOp>(op) || isBlocked(op))
    return;
  for (Value result : op->getResults())
    convert(result);
}

void StorageConversion::finishResults(Operation *op) {
  if (isa<ConstantOp>(op))
    return;
  // Blocked ops, and those whose result has one float type whatever comes in.
  for (Value result : op->getResults()) {
    if (!isConverted(getElementType(result)))
      continue;
    SmallVector<OpOperand *> uses = llvm::map_to_vector(
        result.getUses(), [](OpOperand &use) { return &use; });
    if (uses.empty())
      continue;
    Value stored =
        casts.get(result, lowType,
                  isBlocked(op) ? CastOrigin::Policy : CastOrigin::Storage);
    originals[stored] = getElementType(result);
    for (OpOperand *use : uses)
      use->set(stored);
  }
}

std::unique_ptr<PrecisionStrategy>
mpopt::makeStorageConversion(const Categories &categories, FloatType lowType,
                             bool all, const ConstantLimits &limits) {
  return std::make_unique<StorageConversion>(categories, lowType, all, limits);
}
