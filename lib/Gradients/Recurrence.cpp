//===- Recurrence.cpp - Gradients back through time
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recurrence.h"

#include <cmath>

using namespace llvm;
using namespace mpopt;

double mpopt::inflationOf(double keep, int64_t steps) {
  // Lag k has the correlation keep^k and steps - k pairs.
  double sum = 1, power = 1;
  for (int64_t lag = 1; lag < steps && std::fabs(power) > 1e-6; ++lag) {
    power *= keep;
    sum += 2 * power * (1 - double(lag) / double(steps));
  }
  return std::max(sum, 0.0);
}

void StepSums::add(const TimeMoments &step, ArrayRef<double> inflation) {
  for (size_t row = 0; row < mean.size(); ++row) {
    mean[row] += step.mean[row];
    shared[row] += std::sqrt(step.shared[row]);
    extra[row] += step.own[row] + inflation[row];
    squares[row] +=
        step.mean[row] * step.mean[row] + step.shared[row] + step.own[row];
  }
  ++steps;
}

void StepSums::finish() {
  for (size_t row = 0; row < mean.size(); ++row)
    square[row] = mean[row] * mean[row] + shared[row] * shared[row] +
                  std::max(extra[row], 0.0);
}

Moments StepSums::at(size_t row) const {
  double one = squares[row] / steps;
  double pairs = steps > 1
                     ? (square[row] - squares[row]) / (steps * (steps - 1))
                     : mean[row] * mean[row];
  return {mean[row] / steps, std::clamp(pairs, -one, one), one};
}

namespace {
/// Products with a matrix [rows, columns] from the left, of numbers that are
/// independent from row to row.
class Transposed {
public:
  Transposed(ArrayRef<double> matrix, size_t columns)
      : matrix(matrix), columns(columns) {}

  TimeMoments operator()(const TimeMoments &rows) const {
    TimeMoments result(columns);
    for (size_t row = 0; row < rows.size(); ++row) {
      const double *weights = matrix.data() + row * columns;
      double mean = rows.mean[row], shared = rows.shared[row],
             own = rows.own[row];
      for (size_t column = 0; column < columns; ++column) {
        double weight = weights[column], square = weight * weight;
        result.mean[column] += weight * mean;
        result.shared[column] += square * shared;
        result.own[column] += square * own;
      }
    }
    return result;
  }
  std::vector<double> squares(ArrayRef<double> rows) const {
    std::vector<double> result(columns, 0);
    for (size_t row = 0; row < rows.size(); ++row)
      for (size_t column = 0; column < columns; ++column) {
        double weight = matrix[row * columns + column];
        result[column] += weight * weight * rows[row];
      }
    return result;
  }

private:
  ArrayRef<double> matrix;
  size_t columns;
};
} // namespace

/// One number times an independent factor, which differs from step to step.
static void multiply(TimeMoments &to, size_t row, const Moments &factor,
                     const TimeMoments &from, size_t unit) {
  double square = factor.mean * factor.mean;
  double mean = from.mean[unit], shared = from.shared[unit];
  to.mean[row] = factor.mean * mean;
  to.shared[row] = square * shared;
  to.own[row] = factor.square * from.own[unit] +
                std::max(factor.square - square, 0.0) * (mean * mean + shared);
}

namespace {
/// One step's gradients of the gates' arguments, and of what R multiplies; by
/// how much the sums over the steps of each exceed those of independent steps.
struct GateGradients {
  TimeMoments inner, outer;
  std::vector<double> inflation, passed;

  explicit GateGradients(size_t rows)
      : inner(rows), outer(rows), inflation(rows), passed(rows) {}

  void pass(const CellFactors &cell, const TimeMoments &hidden,
            const TimeMoments &kept, ArrayRef<double> apart);
  /// The gradient that passes through R, summed over the gates.
  TimeMoments passThrough(const CellFactors &cell, ArrayRef<double> recurrence);
};
} // namespace

/// The rows of one gate.
static TimeMoments rowsOf(const TimeMoments &all, size_t gate, size_t units) {
  TimeMoments part(units);
  for (size_t j = 0; j < units; ++j) {
    part.mean[j] = all.mean[gate * units + j];
    part.shared[j] = all.shared[gate * units + j];
    part.own[j] = all.own[gate * units + j];
  }
  return part;
}

static void add(TimeMoments &to, size_t unit, const TimeMoments &from,
                size_t at) {
  to.mean[unit] += from.mean[at];
  to.shared[unit] += from.shared[at];
  to.own[unit] += from.own[at];
}

TimeMoments GateGradients::passThrough(const CellFactors &cell,
                                       ArrayRef<double> recurrence) {
  size_t units = cell.entry.size();
  if (!cell.behind)
    return Transposed(recurrence, units)(outer);
  auto pass = [&](size_t gate, const TimeMoments &rows) {
    return Transposed(recurrence.slice(gate * units * units, units * units),
                      units)(rowsOf(rows, gate, units));
  };
  TimeMoments through(units), kept(units);
  TimeMoments product = pass(*cell.behind, inner);
  for (auto [index, gate] : enumerate(cell.gates))
    for (size_t j = 0; gate.ofProduct && j < units; ++j) {
      multiply(inner, index * units + j, gate.input[j], product, j);
      multiply(outer, index * units + j, gate.state[j], product, j);
    }
  for (size_t gate = 0; gate < cell.gates.size(); ++gate) {
    if (gate == *cell.behind)
      continue;
    TimeMoments part = pass(gate, outer);
    for (size_t j = 0; j < units; ++j)
      add(through, j, part, j);
  }
  for (size_t j = 0; j < units; ++j) {
    multiply(kept, j, cell.factors[j], product, j);
    add(through, j, kept, j);
  }
  return through;
}

void GateGradients::pass(const CellFactors &cell, const TimeMoments &hidden,
                         const TimeMoments &kept, ArrayRef<double> apart) {
  size_t units = cell.entry.size();
  for (auto [index, gate] : enumerate(cell.gates))
    for (size_t j = 0; !gate.ofProduct && j < units; ++j) {
      size_t row = index * units + j;
      const TimeMoments &from = gate.ofHidden ? hidden : kept;
      multiply(inner, row, gate.input[j], from, j);
      multiply(outer, row, gate.state[j], from, j);
      if (gate.ofHidden)
        continue;
      double more = apart[j] * kept.own[j];
      inflation[row] = gate.input[j].mean * gate.input[j].mean * more;
      passed[row] = gate.state[j].mean * gate.state[j].mean * more;
    }
}

PassedBack mpopt::passBack(const CellFactors &cell, ArrayRef<double> weights,
                           ArrayRef<double> recurrence,
                           ArrayRef<TimeMoments> arriving,
                           const TimeMoments &lastHidden,
                           const TimeMoments &lastKept, int64_t steps,
                           bool wantsSteps) {
  size_t units = cell.entry.size(), rows = cell.gates.size() * units;
  Transposed toInput(weights, weights.size() / rows);
  PassedBack result;
  result.input = result.state = StepSums(rows);
  result.features = StepSums(weights.size() / rows);

  std::vector<double> apart(units);
  for (size_t j = 0; j < units; ++j)
    apart[j] = inflationOf(cell.keep[j].mean, steps) - 1;
  TimeMoments kept = lastKept, through = lastHidden;
  // Deviations that came straight from dY, and by way of other units: each kind
  // adds up from step to step, and the two are independent.
  std::vector<double> direct(units), others(units);
  for (size_t j = 0; j < units; ++j)
    direct[j] = std::sqrt(kept.shared[j]);
  for (int64_t step = 0; step < steps; ++step) {
    const TimeMoments &dy = arriving[arriving.size() == 1 ? 0 : step];
    TimeMoments hidden(units), next(units);
    for (size_t j = 0; j < units; ++j) {
      hidden.mean[j] = dy.mean[j] + through.mean[j];
      hidden.shared[j] = dy.shared[j] + through.shared[j];
      hidden.own[j] = dy.own[j] + through.own[j];
      const Moments &entry = cell.entry[j], &keep = cell.keep[j];
      TimeMoments both(2);
      multiply(both, 0, entry, hidden, j);
      multiply(both, 1, keep, kept, j);
      next.mean[j] = both.mean[0] + both.mean[1];
      next.own[j] = both.own[0] + both.own[1];
      direct[j] = entry.mean * std::sqrt(dy.shared[j]) + keep.mean * direct[j];
      others[j] =
          entry.mean * std::sqrt(through.shared[j]) + keep.mean * others[j];
      next.shared[j] = direct[j] * direct[j] + others[j] * others[j];
    }
    kept = std::move(next);

    GateGradients gates(rows);
    gates.pass(cell, hidden, kept, apart);
    through = gates.passThrough(cell, recurrence);
    result.input.add(gates.inner, gates.inflation);
    result.state.add(gates.outer, gates.passed);
    TimeMoments features = toInput(gates.inner);
    result.features.add(features, toInput.squares(gates.inflation));
    if (wantsSteps)
      result.byStep.push_back(std::move(features));
  }
  result.input.finish();
  result.state.finish();
  result.features.finish();
  result.hidden = std::move(through);
  result.kept = TimeMoments(units);
  for (size_t j = 0; j < units; ++j)
    multiply(result.kept, j, cell.keep[j], kept, j);
  return result;
}
