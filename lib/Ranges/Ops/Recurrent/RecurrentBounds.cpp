//===- RecurrentBounds.cpp - Bounds of the units of a plain recurrence
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound of the largest state by the largest row, step by step, grows as
// ||R||^t does. Told apart, most units stay far below it: a row's signs meet
// states that relu keeps at or above 0, and a unit that is never positive feeds
// none of the others.
//
//===----------------------------------------------------------------------===//

#include "RecurrentEstimate.h"

#include "mpopt/Numerics/Rounding.h"

using namespace mpopt;
using namespace mpopt::cells;
using llvm::ArrayRef;

/// Products of all steps, at most.
static constexpr double kMostProducts = 1 << 22;

namespace {
struct Sum {
  Interval range = Interval::point(0);
  double magnitude = 0;

  void add(double weight, const Interval &x) {
    if (weight == 0 || (x.lo == 0 && x.hi == 0))
      return;
    range = range + x * weight;
    magnitude = addUp(magnitude, mulUp(std::fabs(weight), x.maxAbs()));
  }
};
} // namespace

std::optional<PlainBounds>
cells::boundPlainUnits(const RecurrentUnits &units, ArrayRef<Interval> inputs,
                       const Interval &initial, int64_t steps, double error,
                       llvm::function_ref<Interval(const Interval &)> image) {
  size_t count = units.units;
  if (double(count) * (units.inputs + double(steps) * count) > kMostProducts)
    return std::nullopt;
  std::vector<Sum> fromInput(count);
  for (size_t unit = 0; unit < count; ++unit) {
    for (size_t i = 0; i < units.inputs; ++i)
      fromInput[unit].add(units.weights[unit * units.inputs + i],
                          inputs[inputs.size() == 1 ? 0 : i]);
    for (double bias : {units.inputBias[unit], units.stateBias[unit]})
      fromInput[unit].add(bias, Interval::point(1));
  }
  std::vector<Interval> states(count, initial), next(count);
  PlainBounds result{Interval::empty()};
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t unit = 0; unit < count; ++unit) {
      Sum sum = fromInput[unit];
      for (size_t i = 0; i < count; ++i)
        sum.add(units.recurrence[unit * count + i], states[i]);
      if (!std::isfinite(sum.magnitude))
        return std::nullopt;
      double off = addUp(mulUp(sum.magnitude, error), 1e-300);
      next[unit] = image(sum.range + Interval::symmetric(off));
      result.state = hull(result.state, next[unit]);
      result.magnitude = std::max(result.magnitude, addUp(sum.magnitude, off));
    }
    std::swap(states, next);
  }
  return result;
}
