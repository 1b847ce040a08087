//===- RecurrentGradient.cpp - Gradients that leave a cell
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RecurrentGradient.h"

#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

void RecurrentGradient::add(const CellModel &cell, const CellFactors &factors,
                            ArrayRef<TimeMoments> arriving,
                            const TimeMoments &lastHidden,
                            const TimeMoments &lastKept, bool reversed) {
  size_t gates = cell.mean.size() / cell.units.units;
  for (size_t row = 0; gates > 1 && row < cell.mean.size(); ++row)
    open += openShareOf(cell.mean[row], cell.variance[row]);
  directions.push_back(
      {passBack(factors, cell.units.weights, cell.units.recurrence, arriving,
                lastHidden, lastKept, layout.steps, arriving.size() > 1),
       cell.units.input, cell.states.hidden, reversed});
}

void RecurrentGradient::giveCells(unsigned index, AbstractValue::Dims dims,
                                  ArrayRef<Moments> moments,
                                  const Spread &spread, double terms) {
  double draws =
      ctx.elementsPerGroup(ctx.op()->getResult(index), moments.size());
  std::vector<Cell> cells;
  for (const Moments &one : moments)
    cells.push_back(SpreadContext::normalCell(one, draws));
  AbstractValue value(std::move(dims), cells);
  value.source = LikelySource::Propagated;
  Losses losses = ctx.combineLosses();
  losses.hit = losses.hit.ofSums(terms);
  ctx.giveLosses(index, losses);
  ctx.give(index, std::move(value), spread);
}

/// Adds up expected products, to be divided: a group's elements differ.
static void addPart(Moments &to, const Moments &one, double count) {
  to.mean += one.mean / count;
  to.common += one.common / count;
  to.square += one.square / count;
}

void RecurrentGradient::giveInput(unsigned index) {
  int64_t rank = TransferContext::rankOf(input);
  size_t features = directions.front().passed.features.mean.size();
  Spread spread;
  spread.axes.batch = layout.batchAxis;
  if (layout.timeAxis >= 0)
    spread.axes.positions = 1u << layout.timeAxis;
  std::vector<Moments> all;
  double common = 0, square = 0;
  for (size_t i = 0; i < features; ++i) {
    Moments sum;
    for (const Direction &direction : directions)
      sum = sum + direction.passed.features.at(i);
    common += sum.common - sum.mean * sum.mean;
    square += sum.variance();
    all.push_back(sum);
  }
  spread.alike = square > 0 ? std::clamp(common / square, 0.0, 1.0) : 0;
  AbstractValue::Dims dims(rank, 1);
  dims.back() = int64_t(features);
  size_t steps = size_t(layout.steps);
  if (layout.timeAxis >= 0 && steps * features <= ctx.groupLimit().joint &&
      llvm::all_of(directions, [&](const Direction &direction) {
        return direction.passed.byStep.size() == steps;
      })) {
    dims[layout.timeAxis] = layout.steps;
    all.assign(steps * features, Moments());
    for (const Direction &direction : directions)
      for (size_t step = 0; step < steps; ++step)
        for (size_t i = 0; i < features; ++i) {
          const TimeMoments &its = direction.passed.byStep[step];
          size_t place = direction.reversed ? step : steps - 1 - step;
          double mean = its.mean[i] * its.mean[i] + its.shared[i];
          Moments &to = all[place * features + i];
          to = to + Moments{its.mean[i], mean, mean + its.own[i]};
        }
  }
  // A step whose gates are all saturated has a gradient of next to 0.
  if (open > 0)
    spread.zeroRows = spread.zero = std::exp(-open);
  giveCells(index, std::move(dims), all, spread,
            double(directions.front().passed.input.mean.size()));
}

Moments RecurrentGradient::columnOf(const cells::Moments &from,
                                    size_t column) const {
  size_t at = from.mean.size() == 1 ? 0 : column;
  double square = from.mean[at] * from.mean[at];
  return {from.mean[at], square + ctx.spread(input).alike * from.variance[at],
          square + from.variance[at]};
}

void RecurrentGradient::giveWeights(unsigned index, bool ofState) {
  Value made = ctx.op()->getResult(index);
  MaybeShape shape = getShape(made);
  size_t rows = directions.front().passed.input.mean.size();
  size_t columns = size_t(shape->back());
  // The state before the first step is 0 where none is given.
  double steps = double(layout.steps) - (ofState && layout.startsAtZero);
  TermCount count{1, double(layout.batch), steps};
  bool apart = directions.size() * rows * columns <= ctx.groupLimit().joint;
  std::vector<Moments> all;
  for (const Direction &direction : directions) {
    const StepSums &sums =
        ofState ? direction.passed.state : direction.passed.input;
    for (size_t row = 0; row < rows; ++row) {
      Moments merged;
      for (size_t column = 0; column < columns; ++column) {
        Moments x =
            columnOf(ofState ? direction.hidden : direction.input, column);
        Moments sum = steps > 0 ? sumOf(sums.at(row) * x, count) : Moments();
        if (apart)
          all.push_back(sum);
        else
          addPart(merged, sum, double(columns));
      }
      if (!apart)
        all.push_back(merged);
    }
  }
  AbstractValue::Dims dims(shape->size(), 1);
  dims[shape->size() - 2] = int64_t(rows);
  if (apart)
    dims.back() = int64_t(columns);
  if (shape->size() == 3)
    dims.front() = int64_t(directions.size());
  giveCells(index, std::move(dims), all, {}, count.all());
}

void RecurrentGradient::giveBias(unsigned index, RecurrentPart part) {
  MaybeShape shape = getShape(ctx.op()->getResult(index));
  TermCount count{1, double(layout.batch), double(layout.steps)};
  std::vector<Moments> all;
  for (const Direction &direction : directions)
    for (bool ofState : {false, true}) {
      if (part ==
          (ofState ? RecurrentPart::InputBias : RecurrentPart::StateBias))
        continue;
      const StepSums &sums =
          ofState ? direction.passed.state : direction.passed.input;
      for (size_t row = 0; row < sums.mean.size(); ++row)
        all.push_back(sumOf(sums.at(row), count));
    }
  AbstractValue::Dims dims(shape->size(), 1);
  dims.back() = shape->back();
  if (shape->size() == 2)
    dims.front() = int64_t(directions.size());
  giveCells(index, std::move(dims), all, {}, count.all());
}

void RecurrentGradient::giveState(unsigned index, bool kept) {
  MaybeShape shape = getShape(ctx.op()->getResult(index));
  std::vector<Moments> all;
  size_t units = 1;
  for (const Direction &direction : directions) {
    const PassedBack &passed = direction.passed;
    units = passed.hidden.size();
    for (size_t j = 0; j < units; ++j) {
      auto at = [&](const TimeMoments &from) {
        double square = from.mean[j] * from.mean[j] + from.shared[j];
        return Moments{from.mean[j], square, square + from.own[j]};
      };
      Moments sum = at(kept ? passed.kept : passed.hidden);
      if (!kept && layout.keptIsHidden)
        sum = sum + at(passed.kept);
      all.push_back(sum);
    }
  }
  Moments merged;
  for (const Moments &one : all)
    addPart(merged, one, double(all.size()));
  AbstractValue::Dims dims(shape->size(), 1);
  dims.back() = int64_t(units);
  // Directions are apart, whatever their axis is.
  if (directions.size() > 1) {
    dims.back() = 1;
    all = {merged};
  }
  Spread spread;
  spread.axes.batch =
      int(shape->size()) - 2 - (layout.timeAxis == 1 && shape->size() == 3);
  giveCells(index, std::move(dims), all, spread, 1);
}

void RecurrentGradient::give(unsigned index, RecurrentPart part) {
  if (!getShape(ctx.op()->getResult(index)))
    return;
  switch (part) {
  case RecurrentPart::Input:
    return giveInput(index);
  case RecurrentPart::InputWeights:
  case RecurrentPart::StateWeights:
    return giveWeights(index, part == RecurrentPart::StateWeights);
  case RecurrentPart::Bias:
  case RecurrentPart::InputBias:
  case RecurrentPart::StateBias:
    return giveBias(index, part);
  case RecurrentPart::Hidden:
  case RecurrentPart::Kept:
    return giveState(index, part == RecurrentPart::Kept);
  case RecurrentPart::Other:
    return;
  }
}
