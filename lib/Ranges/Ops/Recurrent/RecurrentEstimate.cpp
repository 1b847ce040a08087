//===- RecurrentEstimate.cpp - Expected states of recurrent cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RecurrentEstimate.h"

#include "mpopt/Dialect/InferenceSupport.h"
#include "mpopt/Ranges/Weights/ConstantLayout.h"

#include "mpopt/Ranges/Value/RowSupport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// Weights that are followed one by one, and units times steps.
static constexpr int64_t kMostWeights = 1 << 22;
static constexpr int64_t kMostUnitSteps = 4096;
static constexpr int64_t kMostSteps = 32, kFewestSteps = 4;
/// Where a state has settled.
static constexpr double kSettled = 1e-4;
/// Extremes of a gate's argument, in deviations: its tails do not matter.
static constexpr double kReach = 4;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Row `direction` of a constant whose first axis counts directions.
static bool readDirection(TransferContext &ctx, Value value, unsigned direction,
                          int64_t size, std::vector<double> &to) {
  std::optional<std::vector<double>> all =
      readLaidOut(ctx, value, 4 * kMostWeights);
  if (!all || int64_t(all->size()) < (direction + 1) * size)
    return false;
  to.assign(all->begin() + direction * size,
            all->begin() + (direction + 1) * size);
  return llvm::all_of(to, [](double x) { return std::isfinite(x); });
}

std::optional<RecurrentUnits>
cells::readRecurrentUnits(TransferContext &ctx, Value input, Value weights,
                          Value recurrence, Value bias, int64_t gates,
                          int64_t steps, unsigned direction) {
  MaybeShape w = getShape(weights), r = getShape(recurrence);
  if (!w || !r || w->size() != 3 || r->size() != 3 || (*w)[2] <= 0 ||
      (*r)[2] <= 0 || (*r)[1] != multiplyDims(gates, (*r)[2]) ||
      (*w)[1] != (*r)[1])
    return std::nullopt;
  RecurrentUnits result;
  result.units = (*r)[2];
  result.inputs = (*w)[2];
  result.gates = gates;
  int64_t rows = (*r)[1];
  const AbstractValue &x = ctx.of(input);
  if (!x.hasLikely() || rows > kMostWeights / (*r)[2] ||
      rows > kMostWeights / (*w)[2] ||
      !readDirection(ctx, weights, direction, rows * (*w)[2], result.weights) ||
      !readDirection(ctx, recurrence, direction, rows * (*r)[2],
                     result.recurrence))
    return std::nullopt;
  result.inputBias.assign(rows, 0);
  result.stateBias.assign(rows, 0);
  std::vector<double> both;
  if (bias) {
    if (!readDirection(ctx, bias, direction, 2 * rows, both))
      return std::nullopt;
    std::copy(both.begin(), both.begin() + rows, result.inputBias.begin());
    std::copy(both.begin() + rows, both.end(), result.stateBias.begin());
  }
  AbstractValue features =
      x.rank() > 0 ? x.keeping({int64_t(x.rank()) - 1}) : x;
  if (features.groups() != 1 && features.groups() != result.inputs)
    features = features.merged();
  for (const Cell &cell : features.cells()) {
    result.input.mean.push_back(cell.mean);
    result.input.variance.push_back(cell.variance);
  }
  int64_t most = std::clamp(kMostUnitSteps / (*r)[2], kFewestSteps, kMostSteps);
  result.steps = std::clamp<int64_t>(steps, 1, most);
  return result;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The moments of a matrix times independent numbers plus a bias.
static Moments multiply(ArrayRef<double> matrix, size_t columns,
                        const Moments &x, ArrayRef<double> bias) {
  Moments sums;
  for (size_t row = 0; row < bias.size(); ++row) {
    double mean = bias[row], variance = 0;
    for (size_t i = 0; i < columns; ++i) {
      double weight = matrix[row * columns + i];
      size_t at = x.mean.size() == 1 ? 0 : i;
      mean += weight * x.mean[at];
      variance += weight * weight * x.variance[at];
    }
    sums.mean.push_back(mean);
    sums.variance.push_back(variance);
  }
  return sums;
}

Moments RecurrentUnits::fromInput() const {
  return multiply(weights, inputs, input, inputBias);
}

Moments RecurrentUnits::fromState(const Moments &state, size_t first,
                                  size_t count) const {
  return multiply(
      ArrayRef(recurrence).slice(first * units * units, count * units * units),
      units, state, ArrayRef(stateBias).slice(first * units, count * units));
}

static Moments zeros(size_t units) {
  return {std::vector<double>(units, 0), std::vector<double>(units, 0)};
}

/// The sum of two moments at their places, through an activation.
static Likely gateOf(ActivationEstimate activation, unsigned index, double mean,
                     double variance) {
  return activation(index, Likely::normal(mean, variance, kReach));
}

static double productVariance(const Likely &a, double mean, double variance) {
  return a.variance * variance + a.variance * mean * mean +
         variance * a.mean * a.mean;
}

/// Stores the new moments; whether a mean moved.
static bool update(Moments &state, size_t unit, double mean, double variance) {
  variance = std::min(std::max(variance, 0.0), 1e30);
  mean = std::clamp(mean, -1e30, 1e30);
  bool moved = std::fabs(mean - state.mean[unit]) >
               kSettled * (1 + std::fabs(mean) + std::sqrt(variance));
  moved |= std::fabs(variance - state.variance[unit]) > 0.01 * variance;
  state.mean[unit] = mean;
  state.variance[unit] = variance;
  return moved;
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

RecurrentStates cells::estimateRNN(const RecurrentUnits &units,
                                   ActivationEstimate activation) {
  Moments x = units.fromInput(), h = zeros(units.units);
  for (int64_t step = 0; step < units.steps; ++step) {
    Moments r = units.fromState(h, 0, 1);
    bool moved = false;
    for (size_t j = 0; j < units.units; ++j) {
      Likely next = gateOf(activation, 0, x.mean[j] + r.mean[j],
                           x.variance[j] + r.variance[j]);
      moved |= update(h, j, next.mean, next.variance);
    }
    if (!moved)
      break;
  }
  return {h, {}};
}

RecurrentStates cells::estimateLSTM(const RecurrentUnits &units,
                                    ActivationEstimate activation,
                                    bool coupled) {
  size_t n = units.units;
  Moments x = units.fromInput(), h = zeros(n), c = zeros(n);
  for (int64_t step = 0; step < units.steps; ++step) {
    Moments r = units.fromState(h, 0, 4);
    bool moved = false;
    for (size_t j = 0; j < n; ++j) {
      auto gate = [&](size_t which, unsigned index) {
        size_t at = which * n + j;
        return gateOf(activation, index, x.mean[at] + r.mean[at],
                      x.variance[at] + r.variance[at]);
      };
      Likely i = gate(0, 0), o = gate(1, 0), f = gate(2, 0), g = gate(3, 1);
      if (coupled)
        f = likely::affine(i, -1, 1);
      double mean = f.mean * c.mean[j] + i.mean * g.mean;
      double variance = productVariance(f, c.mean[j], c.variance[j]) +
                        productVariance(i, g.mean, g.variance);
      moved |= update(c, j, mean, variance);
      Likely out = gateOf(activation, 2, c.mean[j], c.variance[j]);
      moved |= update(h, j, o.mean * out.mean,
                      productVariance(o, out.mean, out.variance));
    }
    if (!moved)
      break;
  }
  return {h, c};
}

RecurrentStates cells::estimateGRU(const RecurrentUnits &units,
                                   ActivationEstimate activation,
                                   bool linearBeforeReset) {
  size_t n = units.units;
  Moments x = units.fromInput(), h = zeros(n);
  for (int64_t step = 0; step < units.steps; ++step) {
    Moments gates = units.fromState(h, 0, 2);
    std::vector<Likely> z(n), reset(n);
    Moments kept = h;
    for (size_t j = 0; j < n; ++j) {
      z[j] = gateOf(activation, 0, x.mean[j] + gates.mean[j],
                    x.variance[j] + gates.variance[j]);
      reset[j] = gateOf(activation, 0, x.mean[n + j] + gates.mean[n + j],
                        x.variance[n + j] + gates.variance[n + j]);
      if (!linearBeforeReset) {
        kept.mean[j] = reset[j].mean * h.mean[j];
        kept.variance[j] = productVariance(reset[j], h.mean[j], h.variance[j]);
      }
    }
    Moments fresh = units.fromState(kept, 2, 1);
    bool moved = false;
    for (size_t j = 0; j < n; ++j) {
      double mean = fresh.mean[j], variance = fresh.variance[j];
      if (linearBeforeReset) {
        variance = productVariance(reset[j], mean, variance);
        mean *= reset[j].mean;
      }
      Likely value = gateOf(activation, 1, x.mean[2 * n + j] + mean,
                            x.variance[2 * n + j] + variance);
      const Likely &keep = z[j];
      double apart = value.mean - h.mean[j];
      double take = 1 - keep.mean;
      moved |=
          update(h, j, take * value.mean + keep.mean * h.mean[j],
                 (take * take + keep.variance) * value.variance +
                     keep.variance * apart * apart +
                     (keep.mean * keep.mean + keep.variance) * h.variance[j]);
    }
    if (!moved)
      break;
  }
  return {h, {}};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

AbstractValue cells::withUnits(const AbstractValue &value,
                               ArrayRef<Moments> directions,
                               size_t directionAxis, double draws) {
  if (directionAxis + 1 >= value.rank() || value.groups() != 1)
    return value;
  AbstractValue::Dims dims(value.rank(), 1);
  dims[directionAxis] = directions.size();
  dims.back() = directions.front().mean.size();
  std::vector<Cell> cells;
  for (const Moments &units : directions)
    for (auto [mean, variance] : llvm::zip(units.mean, units.variance)) {
      Cell cell = value.cell(0);
      Likely likely = Likely::normal(mean, variance, expectedExtreme(draws));
      if (!cell.empty())
        likely = likely.within(bound(cell));
      setLikely(cell,
                {0, 0, likely.mean, likely.variance, likely.lo, likely.hi});
      cells.push_back(cell);
    }
  AbstractValue result(std::move(dims), cells);
  result.copyFlags(value);
  result.source = LikelySource::Propagated;
  return result;
}
