//===- RecurrentSupport.h - What recurrent cells have in common -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cell reads an input and its state before, through gates, each an activation
// of W x + R h + b. RNN.cpp, LSTM.cpp and GRU.cpp say what it makes of its
// gates.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_RECURRENT_RECURRENTSUPPORT_H
#define MPOPT_LIB_RANGES_OPS_RECURRENT_RECURRENTSUPPORT_H

#include "RecurrentEstimate.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace mpopt::cells {

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// A function of a gate.
struct Activation {
  Unary unary{UnaryFunction::Tanh};

  /// True if the activation's values lie in [0, 1].
  bool isGate() const {
    return unary.function == UnaryFunction::Sigmoid ||
           unary.function == UnaryFunction::HardSigmoid;
  }
  Interval imageOf(const Interval &x, const ComputeError &error) const;
  Likely likelyOf(const Likely &x) const;
};

/// Tanh, Sigmoid, Relu and HardSigmoid by their ONNX names, in any case, with
/// the numbers of those that take some. Nothing if there is another one, or if
/// it is not clear whose the numbers are.
std::optional<llvm::SmallVector<Activation, 3>>
readActivations(mlir::ArrayAttr names, llvm::ArrayRef<double> alphas,
                llvm::ArrayRef<double> betas);

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The parameters of an op, whatever the kind of its cell.
struct Recurrence {
  /// The states before the first step, zero if there are none; `cell` is an
  /// LSTM's.
  AbstractValue input, hidden, cell;
  mlir::Value weights, recurrence;
  llvm::SmallVector<mlir::Value, 2> biases;
  int64_t gates = 1;
  /// Steps; nothing if not known.
  std::optional<int64_t> steps;
  double clip = 0;
  bool nonFinite = false;

  /// Relative error of the store of a state, which may be in the operands'
  /// dtype at every step.
  double storeUnit() const;
  /// Steps that bounds count on, and how often the estimate is iterated.
  double mostSteps() const;
  int64_t likelySteps() const;

  /// A gate may pass 1 by the error of an approximated sigmoid: by this factor
  /// |z| |a| + |1 - z| |b| exceeds the larger of the two after all steps. 1
  /// within some units, which formulas count with their other roundings.
  double growthBy(const Interval &gate, double unit) const;
};

/// An op that runs a cell over a sequence, in one direction or both.
struct Sequence : Recurrence {
  mlir::Value source, bias;
  bool batchFirst = false;
  unsigned directions = 1;
  /// The activations of all directions; nothing if one has no bound here.
  std::optional<llvm::SmallVector<Activation, 3>> activations;

  /// The activations of one direction.
  llvm::ArrayRef<Activation> activationsOf(unsigned direction) const {
    size_t count = activations->size() / directions;
    return llvm::ArrayRef(*activations).slice(direction * count, count);
  }
  std::optional<RecurrentUnits> readUnits(unsigned direction,
                                          int64_t stepsIfUnknown,
                                          TransferContext &ctx) const;
};

template <typename OpTy>
Sequence getSequence(OpTy op, int64_t gates, TransferContext &ctx) {
  Sequence sequence;
  sequence.source = op.getInput();
  sequence.input = ctx.of(op.getInput());
  sequence.hidden = sequence.cell = AbstractValue::within(0, 0);
  if (op.getInitialH())
    sequence.hidden = ctx.of(op.getInitialH());
  if constexpr (requires { op.getInitialC(); })
    if (op.getInitialC())
      sequence.cell = ctx.of(op.getInitialC());
  sequence.weights = op.getWeights();
  sequence.recurrence = op.getRecurrence();
  sequence.bias = op.getBias();
  if (sequence.bias)
    sequence.biases.push_back(sequence.bias);
  sequence.gates = gates;
  sequence.clip = op.getClip().convertToDouble();
  sequence.batchFirst = op.getBatchFirst();
  sequence.directions = op.getDirection() == "bidirectional" ? 2 : 1;
  sequence.activations = readActivations(
      op.getActivations(), op.getActivationAlpha(), op.getActivationBeta());
  sequence.steps =
      TransferContext::dimOf(op.getInput(), sequence.batchFirst ? 1 : 0);
  for (mlir::Value operand : op->getOperands())
    sequence.nonFinite |= mlir::isa<mlir::FloatType>(getElementType(operand)) &&
                          ctx.of(operand).mayBeNonFinite();
  return sequence;
}

/// The parameters of an op that is a single step.
template <typename OpTy>
Recurrence getStep(OpTy op, int64_t gates, TransferContext &ctx) {
  Recurrence step;
  step.input = ctx.of(op.getInput());
  step.hidden = ctx.of(op.getHidden());
  step.cell = AbstractValue::within(0, 0);
  if constexpr (requires { op.getCell(); })
    step.cell = ctx.of(op.getCell());
  step.weights = op.getInputWeights();
  step.recurrence = op.getHiddenWeights();
  step.gates = gates;
  step.steps = 1;
  for (mlir::Value bias : {op.getInputBias(), op.getHiddenBias()})
    if (bias)
      step.biases.push_back(bias);
  // One of two counts once.
  if (step.biases.size() == 1)
    step.biases.push_back(step.biases.front());
  for (mlir::Value operand : op->getOperands())
    step.nonFinite |= ctx.of(operand).mayBeNonFinite();
  return step;
}

/// The states that the steps reach, in all directions.
struct States {
  Interval hidden = Interval::empty(), cell = Interval::empty();
  std::optional<Likely> likelyHidden, likelyCell;
  bool nan = false;

  void addHidden(const Likely &likely) { add(likelyHidden, likely); }
  void addCell(const Likely &likely) { add(likelyCell, likely); }

private:
  static void add(std::optional<Likely> &to, const Likely &likely) {
    to = to ? likely::mix(*to, likely) : likely;
  }
};

/// All results of a sequence op: each direction's states by `run`, and its
/// units, where their weights are known, by `estimate`. Nothing is known of
/// them with other activations than `readActivations` knows, or where the first
/// one of a cell with gates is none.
void transferSequence(
    const Sequence &sequence,
    llvm::function_ref<void(unsigned direction, llvm::ArrayRef<Activation>,
                            States &)>
        run,
    llvm::function_ref<RecurrentStates(const RecurrentUnits &,
                                       ActivationEstimate)>
        estimate,
    TransferContext &ctx);
/// All results of an op that is one step.
void setStepResults(const States &states, TransferContext &ctx);

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

/// The error of the activations of a cell.
ComputeError cellError(TransferContext &ctx, const Recurrence &op);

/// Bounds and estimate of W x + R h + b for the state h.
class GateInput {
public:
  GateInput(const Recurrence &op, TransferContext &ctx);

  Interval bound(double state) const;
  Likely likely(double stateSquare) const;
  bool hasLikely() const { return known; }
  bool overflows(double state) const {
    return !(magnitude(state) < format.overflowFrom);
  }
  bool isOver(double magnitude) const {
    return !(magnitude < format.overflowFrom);
  }
  /// The error of a sum, relative to the sum of its terms' magnitudes.
  double relativeError() const { return error; }

private:
  double magnitude(double state) const {
    double sum = fixed + (recurrent == 0 || state == 0 ? 0 : recurrent * state);
    return sum * (1 + error) + 1e-300;
  }

  const FloatFormat &format;
  double fixed = 0, recurrent = 0, error = 0, clip = 0;
  bool known = true;
  double mean = 0, fixedVariance = 0, stateVariance = 0;
};

inline Interval hullOf(const AbstractValue &value) {
  return hull(bound(value.hull()), 0.0);
}
/// The mean of x^2.
inline double squareOf(const Cell &cell) {
  return cell.variance + cell.mean * cell.mean;
}
inline double squareOf(const Likely &likely) {
  return likely.variance + likely.mean * likely.mean;
}

} // namespace mpopt::cells

#endif // MPOPT_LIB_RANGES_OPS_RECURRENT_RECURRENTSUPPORT_H
