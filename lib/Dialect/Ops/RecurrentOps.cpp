//===- RecurrentOps.cpp - Recurrent cells ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/RecurrentOps.h"

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/RecurrentOps.cpp.inc"

void MPDialect::registerRecurrentOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/RecurrentOps.cpp.inc"
      >();
}

static bool differ(int64_t lhs, int64_t rhs) {
  return lhs >= 0 && rhs >= 0 && lhs != rhs;
}

//===----------------------------------------------------------------------===//
// Whole sequences
//===----------------------------------------------------------------------===//

static bool isActivation(StringRef name) {
  static const StringRef kNames[] = {
      "Relu",        "Tanh",     "Sigmoid",         "Affine",
      "LeakyRelu",   "Elu",      "ThresholdedRelu", "ScaledTanh",
      "HardSigmoid", "Softsign", "Softplus"};
  return llvm::is_contained(kNames, name);
}

static int64_t getDirections(StringRef direction) {
  return direction == "bidirectional" ? 2 : 1;
}

/// An operand of known rank whose static dims are `wanted`.
static LogicalResult verifyShape(Operation *op, StringRef name, Value operand,
                                 ArrayRef<int64_t> wanted) {
  MaybeShape shape = operand ? getShape(operand) : std::nullopt;
  if (!shape)
    return success();
  bool fits = shape->size() == wanted.size();
  for (size_t index = 0; fits && index < wanted.size(); ++index)
    fits = !differ((*shape)[index], wanted[index]);
  if (fits)
    return success();
  InFlightDiagnostic error = op->emitOpError() << name << " must be [";
  llvm::interleaveComma(wanted, error, [&](int64_t dim) {
    if (dim < 0)
      error << '?';
    else
      error << dim;
  });
  return error << "], got " << operand.getType();
}

template <typename OpT>
static LogicalResult verifySequence(OpT op, int64_t gates,
                                    int64_t activationsEach) {
  StringRef direction = op.getDirection();
  if (!symbolizeDirection(direction))
    return op.emitOpError("unknown direction '") << direction << "'";
  int64_t hidden = op.getHiddenSize(), dirs = getDirections(direction);
  if (hidden < 1)
    return op.emitOpError("hidden_size is ") << hidden;
  if (int64_t(op.getActivations().size()) != dirs * activationsEach)
    return op.emitOpError("has ")
           << op.getActivations().size() << " activations, needs "
           << dirs * activationsEach;
  for (StringRef name :
       op.getActivations().template getAsValueRange<StringAttr>())
    if (!isActivation(name))
      return op.emitOpError("unknown activation '") << name << "'";
  MaybeShape input = getShape(op.getInput());
  if (input && input->size() != 3)
    return op.emitOpError("input must have three dims, got ")
           << op.getInput().getType();
  int64_t batch = !input ? kDynamic : (*input)[op.getBatchFirst() ? 0 : 1];
  int64_t features = input ? (*input)[2] : kDynamic;
  int64_t all = multiplyDims(gates, hidden);
  Shape state = op.getBatchFirst() ? Shape{batch, dirs, hidden}
                                   : Shape{dirs, batch, hidden};
  return failure(failed(verifyShape(op, "weights", op.getWeights(),
                                    {dirs, all, features})) ||
                 failed(verifyShape(op, "recurrence", op.getRecurrence(),
                                    {dirs, all, hidden})) ||
                 failed(verifyShape(op, "bias", op.getBias(),
                                    {dirs, multiplyDims(2, all)})) ||
                 failed(verifyShape(op, "sequence_lengths",
                                    op.getSequenceLengths(), {batch})) ||
                 failed(verifyShape(op, "initial_h", op.getInitialH(), state)));
}

/// Every step's state, then `states` last ones.
template <typename OpT>
static LogicalResult inferSequence(OpT op, unsigned states,
                                   SmallVectorImpl<Type> &types) {
  if (failed(op.verify()))
    return failure();
  MaybeShape input = getShape(op.getInput());
  int64_t first = input ? (*input)[0] : kDynamic,
          second = input ? (*input)[1] : kDynamic;
  int64_t hidden = op.getHiddenSize(), dirs = getDirections(op.getDirection());
  Type element = getElementType(op.getInput());
  if (isUnknown(element))
    element = getElementType(op.getWeights());
  bool batchFirst = op.getBatchFirst();
  types.push_back(getTensorType(batchFirst ? Shape{first, second, dirs, hidden}
                                           : Shape{first, dirs, second, hidden},
                                element));
  types.append(states, getTensorType(batchFirst ? Shape{first, dirs, hidden}
                                                : Shape{dirs, second, hidden},
                                     element));
  return success();
}

LogicalResult RNNOp::verify() { return verifySequence(*this, 1, 1); }

LogicalResult RNNOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  return inferSequence(*this, 1, types);
}

LogicalResult LSTMOp::verify() {
  if (failed(verifySequence(*this, 4, 3)))
    return failure();
  int64_t hidden = getHiddenSize(), dirs = getDirections(getDirection());
  Shape state = getBatchFirst() ? Shape{kDynamic, dirs, hidden}
                                : Shape{dirs, kDynamic, hidden};
  if (failed(verifyShape(*this, "initial_c", getInitialC(), state)))
    return failure();
  return verifyShape(*this, "peepholes", getPeepholes(),
                     {dirs, multiplyDims(3, hidden)});
}

LogicalResult LSTMOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  return inferSequence(*this, 2, types);
}

LogicalResult GRUOp::verify() { return verifySequence(*this, 3, 2); }

LogicalResult GRUOp::inferResultTypes(const ShapeFacts &,
                                      SmallVectorImpl<Type> &types) {
  return inferSequence(*this, 1, types);
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// The new state has the old one's shape; the batch may be known from the
/// input.
template <typename OpT>
static LogicalResult inferCell(OpT op, int64_t gates, unsigned states,
                               SmallVectorImpl<Type> &types) {
  MaybeShape input = getShape(op.getInput()), hidden = getShape(op.getHidden()),
             weights = getShape(op.getHiddenWeights());
  if (weights && (weights->size() != 2 ||
                  differ((*weights)[0], multiplyDims(gates, (*weights)[1]))))
    return op.emitOpError("hidden weights must be [")
           << gates << " H, H], got " << op.getHiddenWeights().getType();
  if (hidden && weights && !hidden->empty() &&
      differ(hidden->back(), (*weights)[1]))
    return op.emitOpError("hidden state ")
           << op.getHidden().getType() << " does not fit weights "
           << op.getHiddenWeights().getType();
  if (hidden && weights && !hidden->empty() && hidden->back() < 0)
    hidden->back() = (*weights)[1];
  if (hidden && input && hidden->size() == 2 && input->size() == 2) {
    if (differ((*hidden)[0], (*input)[0]))
      return op.emitOpError("batches differ: ") << op->getOperandTypes();
    if ((*hidden)[0] < 0)
      (*hidden)[0] = (*input)[0];
  }
  types.append(states, getTensorType(hidden, getElementType(op.getInput())));
  return success();
}

LogicalResult RNNCellOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  if (!symbolizeCellActivation(getActivation()))
    return emitOpError("unknown activation '") << getActivation() << "'";
  return inferCell(*this, 1, 1, types);
}
LogicalResult LSTMCellOp::inferResultTypes(const ShapeFacts &,
                                           SmallVectorImpl<Type> &types) {
  return inferCell(*this, 4, 2, types);
}
LogicalResult GRUCellOp::inferResultTypes(const ShapeFacts &,
                                          SmallVectorImpl<Type> &types) {
  return inferCell(*this, 3, 1, types);
}
