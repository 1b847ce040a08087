//===- RecurrentGradients.cpp - Ranges of gradients of recurrent cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backward in time with magnitudes only: what arrives at a state is at most
// that of the result, and of the gates of the step behind it through the
// columns of R. Gates are in [0, 1] and slopes of a sigmoid at most 1/4, of
// tanh and relu 1, so that (docs/adjoint.md)
//
//   dC += dH, dO = dH / 4, dI = dC / 4, dF = dC |c| / 4, dZ = dC
//
// and c grows by 1 a step at most. The bound grows as ||R||^T does.
//
//===----------------------------------------------------------------------===//

#include "RecurrentSupport.h"
#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <array>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::gradients;

/// Elements of weights that are read one by one.
static constexpr int64_t kMostWeights = 1 << 22;
/// Steps that are followed.
static constexpr int64_t kMostSteps = 1 << 16;

namespace {
/// For each gate the largest sum of magnitudes of a column of its rows.
using ByGate = std::array<double, 4>;

/// Magnitudes from which the gradients of a cell are computed.
struct Backward {
  Value weights, recurrence;
  ByGate inputColumns{}, stateColumns{};
  unsigned gates = 1;
  double steps = 1, batch = 1, directions = 1;
  double grad = 0, lastHidden = 0, lastCell = 0;
  double input = 0, hidden = 1, cell = 0, peepholes = 0, inner = 0;
  /// For the roundings of one step.
  double room = 1;
  bool nonFinite = false;
};

/// Gradients of gates and states that one step passes on.
struct Step {
  ByGate gates{};
  double hidden = 0, cell = 0;
};

/// Largest and summed magnitudes over all steps.
struct Passed {
  ByGate largest{}, summed{};
  double hidden = 0, cell = 0;
  /// The largest magnitude of any intermediate result.
  double peak = 0;
};
} // namespace

static double magnitudeOf(Value value, TransferContext &ctx) {
  return value ? ctx.of(value).hull().absMax() : 0;
}

/// The tensor is [..., gates H, columns].
static ByGate columnsOf(Value matrix, unsigned gates, TransferContext &ctx) {
  ByGate result{};
  MaybeShape shape = getShape(matrix);
  double rows = kInfinity;
  if (shape && shape->size() >= 2 && (*shape)[shape->size() - 2] >= 0)
    rows = double((*shape)[shape->size() - 2]) / gates;
  double largest = magnitudeOf(matrix, ctx);
  result.fill(largest == 0 ? 0 : rows * largest);
  std::optional<WeightView> view = ctx.weights(matrix);
  if (!view || !std::isfinite(rows) || view->size() > kMostWeights ||
      view->size() == 0)
    return result;
  std::vector<double> elements(view->size());
  view->read(0, elements);
  size_t columns = shape->back(), perGate = size_t(rows);
  size_t matrices = elements.size() / (columns * perGate * gates);
  for (unsigned gate = 0; gate < gates; ++gate) {
    double most = 0;
    for (size_t m = 0; m < matrices; ++m)
      for (size_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (size_t row = 0; row < perGate; ++row)
          sum += std::fabs(
              elements[((m * gates + gate) * perGate + row) * columns +
                       column]);
        most = std::max(most, sum);
      }
    result[gate] = std::isnan(most) ? kInfinity : most * (1 + 1e-12);
  }
  return result;
}

/// The gradient that all gates pass on through some columns.
static double through(const ByGate &columns, const ByGate &gates) {
  double sum = 0;
  for (auto [column, gate] : llvm::zip_equal(columns, gates))
    sum += column == 0 || gate == 0 ? 0 : column * gate;
  return sum;
}

/// All steps, by `step` of what arrives at the states.
static std::optional<Passed>
passBack(const Backward &how,
         llvm::function_ref<Step(double hidden, double cell)> step) {
  if (!(how.steps <= kMostSteps))
    return std::nullopt;
  Passed passed;
  passed.hidden = how.lastHidden;
  passed.cell = how.lastCell;
  for (int64_t t = 0; t < int64_t(how.steps); ++t) {
    Step made = step((passed.hidden + how.grad) * how.room, passed.cell);
    for (unsigned gate = 0; gate < how.gates; ++gate) {
      passed.largest[gate] = std::max(passed.largest[gate], made.gates[gate]);
      passed.summed[gate] += made.gates[gate];
    }
    passed.hidden =
        (made.hidden + through(how.stateColumns, made.gates)) * how.room;
    passed.cell = made.cell * how.room;
    passed.peak =
        std::max({passed.peak, passed.hidden + how.grad, passed.cell});
    if (!std::isfinite(passed.hidden + passed.cell))
      return std::nullopt;
  }
  return passed;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The places of the gates i, f, o and z.
struct LstmGates {
  unsigned input, forget, output, candidate;
};
} // namespace

static std::optional<Passed> passLstm(const Backward &how, LstmGates at,
                                      bool coupled) {
  // c at any step.
  double cell = (how.cell + how.steps) * how.room;
  return passBack(how, [&](double dh, double dc) {
    Step step;
    double output = dh * std::min(cell, 1.0) / 4;
    double all = (dc + dh + output * how.peepholes) * how.room;
    double input = all / 4, forget = all * cell / 4;
    if (coupled) {
      input = all * (1 + cell) / 4;
      forget = 0;
    }
    step.gates[at.input] = input * how.room;
    step.gates[at.forget] = forget * how.room;
    step.gates[at.output] = output * how.room;
    step.gates[at.candidate] = all * how.room;
    step.cell = all + how.peepholes * (input + forget);
    return step;
  });
}

/// The backward step of a GRU with gates z, r and n at these places;
/// |h| <= `hidden`.
static std::optional<Passed> passGru(const Backward &how, unsigned update,
                                     unsigned reset, unsigned candidate,
                                     bool late) {
  return passBack(how, [&](double dh, double) {
    Step step;
    step.gates[candidate] = dh * how.room;
    step.gates[update] = dh * (how.hidden + 1) / 4 * how.room;
    // By the reset gate: R h, or R^T dN and h.
    step.gates[reset] = (late ? dh * how.inner
                              : how.stateColumns[candidate] * dh * how.hidden) /
                        4 * how.room;
    step.hidden = dh;
    return step;
  });
}

static std::optional<Passed> passPlain(const Backward &how) {
  return passBack(how, [&](double dh, double) {
    Step step;
    step.gates[0] = dh * how.room;
    return step;
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static double largestOf(const ByGate &gates) {
  return *llvm::max_element(gates);
}

namespace {
/// The operands that have gradients, of any cell.
enum class Part : uint8_t {
  Input,
  InputWeights,
  StateWeights,
  Bias,
  Hidden,
  Cell,
  Peepholes,
  Other
};
} // namespace

static std::optional<Number> gradientOf(Part part, const Backward &how,
                                        const Passed &passed,
                                        const FloatFormat &format) {
  double most = 0, all = largestOf(passed.summed) * how.batch;
  switch (part) {
  case Part::Input:
    most = through(how.inputColumns, passed.largest) * how.directions;
    break;
  case Part::InputWeights:
    most = all * how.input;
    break;
  case Part::StateWeights:
    most = all * how.hidden;
    break;
  case Part::Bias:
    most = all;
    break;
  case Part::Hidden:
    most = passed.hidden;
    break;
  case Part::Cell:
    most = passed.cell;
    break;
  case Part::Peepholes:
    most = all * (how.cell + how.steps);
    break;
  case Part::Other:
    return std::nullopt;
  }
  // Sums over steps and the batch.
  double error = relativeSumError(format, how.steps * how.batch + 8, 8);
  most *= kRoom * how.room * (1 + 2 * error);
  if (!std::isfinite(most))
    return std::nullopt;
  Number number = Number::within(Interval::symmetric(most), format);
  for (double gate : passed.summed)
    most = std::max(most, gate * how.batch);
  bool overflows = !(std::max(most, passed.peak) < format.overflowFrom * 0.9);
  bool any = overflows || how.nonFinite;
  number.range.nan = number.range.posInf = number.range.negInf = any;
  return number;
}

/// Reads the operands of a sequence or of a single step; `states` holds the
/// bounds of the gate inputs, so that their overflow is seen.
static void readOperands(Backward &how, Value input, unsigned gates,
                         const FloatFormat &format, TransferContext &ctx) {
  how.gates = gates;
  how.inputColumns = columnsOf(how.weights, gates, ctx);
  how.stateColumns = columnsOf(how.recurrence, gates, ctx);
  how.input = magnitudeOf(input, ctx);
  auto columns = [](Value matrix) {
    MaybeShape shape = getShape(matrix);
    return shape && !shape->empty() && shape->back() >= 0
               ? double(shape->back())
               : kInfinity;
  };
  double inputs = columns(how.weights), states = columns(how.recurrence);
  double products = inputs * how.input * magnitudeOf(how.weights, ctx) +
                    states * how.hidden * magnitudeOf(how.recurrence, ctx);
  how.inner = states * how.hidden * magnitudeOf(how.recurrence, ctx);
  double unit = std::max(0x1p-16, format.unitRoundoff());
  const FloatFormat *own = getFloatFormat(getElementType(input));
  if (own)
    unit = std::max(unit, own->unitRoundoff());
  how.room =
      1 + 16 * unit + relativeSumError(format, gates * states + inputs, 8);
  for (Value operand : ctx.op()->getOperands())
    how.nonFinite |= isa<FloatType>(getElementType(operand)) &&
                     ctx.of(operand).mayBeNonFinite();
  how.nonFinite |= !(products < format.overflowFrom * 0.99);
}

/// True if all activations are the usual ones of a cell; with other ones slopes
/// and states have other bounds.
template <typename OpTy>
static bool hasActivations(OpTy op, ArrayRef<UnaryFunction> usual) {
  auto activations = cells::readActivations(
      op.getActivations(), op.getActivationAlpha(), op.getActivationBeta());
  if (!activations || activations->empty() ||
      activations->size() % usual.size() != 0)
    return false;
  for (auto [index, activation] : llvm::enumerate(*activations))
    if (activation.unary.function != usual[index % usual.size()])
      return false;
  return true;
}

template <typename OpTy>
static Backward readSequence(OpTy op, unsigned gates, TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(op.getInput());
  Backward how;
  how.weights = op.getWeights();
  how.recurrence = op.getRecurrence();
  how.hidden = std::max(1.0, magnitudeOf(op.getInitialH(), ctx)) * kRoom;
  if constexpr (requires { op.getInitialC(); })
    how.cell = magnitudeOf(op.getInitialC(), ctx);
  if constexpr (requires { op.getPeepholes(); })
    how.peepholes = magnitudeOf(op.getPeepholes(), ctx);
  readOperands(how, op.getInput(), gates, format, ctx);
  double bias = magnitudeOf(op.getBias(), ctx);
  how.inner = (how.inner + bias) * how.room;
  MaybeShape shape = getShape(op.getInput());
  auto dim = [&](size_t axis) {
    return shape && axis < shape->size() && (*shape)[axis] >= 0
               ? double((*shape)[axis])
               : kInfinity;
  };
  how.steps = dim(op.getBatchFirst() ? 1 : 0);
  how.batch = dim(op.getBatchFirst() ? 0 : 1);
  how.directions = op.getDirection() == "bidirectional" ? 2 : 1;
  how.grad = magnitudeOf(op.getGrad(), ctx);
  how.lastHidden = magnitudeOf(op.getLastHGrad(), ctx);
  if constexpr (requires { op.getLastCGrad(); })
    how.lastCell = magnitudeOf(op.getLastCGrad(), ctx);
  return how;
}

/// Places of the operands behind the gradients, `first` of which there are.
static Part sequencePart(unsigned slot, unsigned first) {
  static constexpr Part kParts[] = {
      Part::Input, Part::InputWeights, Part::StateWeights, Part::Bias,
      Part::Other, Part::Hidden,       Part::Cell,         Part::Peepholes};
  return slot - first < std::size(kParts) ? kParts[slot - first] : Part::Other;
}

template <typename OpTy>
static void giveParts(OpTy op, const Backward &how,
                      const std::optional<Passed> &passed,
                      llvm::function_ref<Part(unsigned slot)> partOf,
                      TransferContext &ctx) {
  if (!passed)
    return;
  const FloatFormat &format = ctx.productFormat(op.getInput());
  giveWanted(op, ctx, [&](unsigned slot) {
    return gradientOf(partOf(slot), how, *passed, format);
  });
}

static void transferRnn(mp::RNNGradOp op, TransferContext &ctx) {
  // States of a relu have no bound here.
  bool bounded = hasActivations(op, {UnaryFunction::Tanh});
  if (!bounded && !hasActivations(op, {UnaryFunction::Relu}))
    return;
  Backward how = readSequence(op, 1, ctx);
  how.nonFinite |= !bounded;
  giveParts(
      op, how, passPlain(how),
      [&](unsigned slot) {
        Part part = sequencePart(slot, 2);
        return part == Part::StateWeights && !bounded ? Part::Other : part;
      },
      ctx);
}

static void transferLstm(mp::LSTMGradOp op, TransferContext &ctx) {
  if (!hasActivations(op, {UnaryFunction::Sigmoid, UnaryFunction::Tanh,
                           UnaryFunction::Tanh}))
    return;
  Backward how = readSequence(op, 4, ctx);
  giveParts(
      op, how, passLstm(how, {0, 2, 1, 3}, op.getInputForget()),
      [](unsigned slot) { return sequencePart(slot, 3); }, ctx);
}

static void transferGru(mp::GRUGradOp op, TransferContext &ctx) {
  if (!hasActivations(op, {UnaryFunction::Sigmoid, UnaryFunction::Tanh}))
    return;
  Backward how = readSequence(op, 3, ctx);
  giveParts(
      op, how, passGru(how, 0, 1, 2, op.getLinearBeforeReset()),
      [](unsigned slot) { return sequencePart(slot, 2); }, ctx);
}

template <typename OpTy>
static Backward readCell(OpTy op, unsigned gates, TransferContext &ctx) {
  const FloatFormat &format = ctx.productFormat(op.getInput());
  Backward how;
  how.weights = op.getInputWeights();
  how.recurrence = op.getHiddenWeights();
  how.hidden = std::max(1.0, magnitudeOf(op.getHidden(), ctx)) * kRoom;
  if constexpr (requires { op.getCell(); })
    how.cell = magnitudeOf(op.getCell(), ctx);
  readOperands(how, op.getInput(), gates, format, ctx);
  how.inner = (how.inner + magnitudeOf(op.getHiddenBias(), ctx)) * how.room;
  MaybeShape shape = getShape(op.getInput());
  how.batch = !shape               ? kInfinity
              : shape->size() < 2  ? 1
              : shape->front() < 0 ? kInfinity
                                   : double(shape->front());
  how.grad = magnitudeOf(op.getGrad(), ctx);
  if constexpr (requires { op.getNextCellGrad(); })
    how.lastCell = magnitudeOf(op.getNextCellGrad(), ctx);
  return how;
}

/// Input, states, both weights, both biases.
static Part cellPart(unsigned slot, unsigned first, bool hasCell) {
  unsigned at = slot - first;
  if (at < 2)
    return at == 0 ? Part::Input : Part::Hidden;
  if (hasCell && at == 2)
    return Part::Cell;
  // In the order of the operands behind the input and the states.
  static constexpr Part kParts[] = {Part::InputWeights, Part::StateWeights,
                                    Part::Bias, Part::Bias};
  at -= hasCell ? 3 : 2;
  return at < std::size(kParts) ? kParts[at] : Part::Other;
}

static void transferRnnCell(mp::RNNCellGradOp op, TransferContext &ctx) {
  Backward how = readCell(op, 1, ctx);
  giveParts(
      op, how, passPlain(how),
      [](unsigned slot) { return cellPart(slot, 1, false); }, ctx);
}

static void transferLstmCell(mp::LSTMCellGradOp op, TransferContext &ctx) {
  Backward how = readCell(op, 4, ctx);
  giveParts(
      op, how, passLstm(how, {0, 1, 3, 2}, /*coupled=*/false),
      [](unsigned slot) { return cellPart(slot, 2, true); }, ctx);
}

static void transferGruCell(mp::GRUCellGradOp op, TransferContext &ctx) {
  Backward how = readCell(op, 3, ctx);
  giveParts(
      op, how, passGru(how, 1, 0, 2, /*late=*/true),
      [](unsigned slot) { return cellPart(slot, 1, false); }, ctx);
}

void mpopt::attachRecurrentGradientsTransfers(MLIRContext *context) {
  attachTransfer<transferRnn, mp::RNNGradOp>(context);
  attachTransfer<transferLstm, mp::LSTMGradOp>(context);
  attachTransfer<transferGru, mp::GRUGradOp>(context);
  attachTransfer<transferRnnCell, mp::RNNCellGradOp>(context);
  attachTransfer<transferLstmCell, mp::LSTMCellGradOp>(context);
  attachTransfer<transferGruCell, mp::GRUCellGradOp>(context);
}
