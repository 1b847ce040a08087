//===- RecurrentGates.cpp - Gates of cells and their slopes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RecurrentGates.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double sigmoidSlope(double x) { return sigmoid(x) * sigmoid(-x); }
static double tanhSlope(double x) {
  double y = std::tanh(x);
  return 1 - y * y;
}

Likely mpopt::likelyOf(Curve curve, const Likely &x) {
  Moments moments =
      curve == Curve::Sigmoid ? momentsOf(x.mean, x.variance, sigmoid)
      : curve == Curve::Tanh
          ? momentsOf(x.mean, x.variance, [](double x) { return std::tanh(x); })
          : momentsOf(x.mean, x.variance,
                      [](double x) { return std::max(x, 0.0); });
  return Likely::normal(moments.mean, moments.variance(), 4);
}

double mpopt::openShareOf(double mean, double variance) {
  // The square is next to a bell of the same height and area, 8 / 3.
  constexpr double kWidth =
      8 / 3.0 / std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  double total = kWidth * kWidth + variance;
  return kWidth / std::sqrt(total) * std::exp(-mean * mean / (2 * total));
}

void mpopt::setArguments(CellModel &cell) {
  cells::Moments x = cell.units.fromInput();
  cells::Moments h =
      cell.units.fromState(cell.states.hidden, 0, cell.units.gates);
  cell.mean = x.mean;
  cell.variance = x.variance;
  for (size_t row = 0; row < x.mean.size(); ++row) {
    cell.mean[row] += h.mean[row];
    cell.variance[row] += h.variance[row];
  }
}

static Moments stateOf(const cells::Moments &state, size_t unit) {
  double mean = state.mean[unit];
  return {mean, mean * mean, mean * mean + state.variance[unit]};
}
static double tangent(double x) { return std::tanh(x); }

CellFactors mpopt::factorsOfLstm(const CellModel &cell, LstmGates at) {
  CellFactors result;
  result.gates.resize(4);
  result.gates[at.output].ofHidden = true;
  for (size_t j = 0; j < cell.units.units; ++j) {
    Moments c = stateOf(cell.states.cell, j);
    Moments i = cell.at(at.input, j, sigmoid);
    // The cell after the step; once it has settled it is as it was before.
    Moments next = cell.at(at.forget, j, sigmoid) * c +
                   i * cell.at(at.candidate, j, tangent);
    auto ofCell = [&](llvm::function_ref<double(double)> function) {
      return momentsOf(next.mean, next.variance(), function);
    };
    result.entry.push_back(cell.at(at.output, j, sigmoid) * ofCell(tanhSlope));
    result.keep.push_back(cell.at(at.forget, j, sigmoid));
    auto add = [&](unsigned gate, const Moments &factor) {
      result.gates[gate].input.push_back(factor);
      result.gates[gate].state.push_back(factor);
    };
    add(at.input, cell.at(at.candidate, j, tangent) *
                      cell.slopeAt(at.input, j, sigmoidSlope));
    add(at.forget, c * cell.slopeAt(at.forget, j, sigmoidSlope));
    add(at.candidate, i * cell.slopeAt(at.candidate, j, tanhSlope));
    add(at.output, ofCell(tangent) * cell.slopeAt(at.output, j, sigmoidSlope));
  }
  return result;
}

/// r h, unit by unit.
static cells::Moments resetState(const CellModel &cell, unsigned gate) {
  cells::Moments state = cell.states.hidden;
  for (size_t j = 0; j < cell.units.units; ++j) {
    Moments kept = cell.at(gate, j, sigmoid) * stateOf(state, j);
    state.mean[j] = kept.mean;
    state.variance[j] = kept.variance();
  }
  return state;
}

CellFactors mpopt::factorsOfGru(const CellModel &cell, GruGates at,
                                bool resetsProduct) {
  CellFactors result;
  size_t units = cell.units.units;
  result.gates.resize(3);
  if (!resetsProduct) {
    result.behind = at.candidate;
    result.gates[at.reset].ofProduct = true;
  }
  cells::Moments x = cell.units.fromInput();
  cells::Moments inner = cell.units.fromState(
      resetsProduct ? cell.states.hidden : resetState(cell, at.reset),
      at.candidate, 1);
  for (size_t j = 0; j < units; ++j) {
    size_t row = at.candidate * units + j;
    Moments reset = cell.at(at.reset, j, sigmoid), product = stateOf(inner, j);
    Moments kept = resetsProduct ? reset * product : product;
    double mean = x.mean[row] + kept.mean;
    double variance = x.variance[row] + kept.variance();
    Moments n = momentsOf(mean, variance, tangent);
    Moments take = cell.at(at.update, j, [](double a) { return sigmoid(-a); });
    Moments slope = take * momentsOfPeak(mean, variance, tanhSlope);
    Moments h = stateOf(cell.states.hidden, j);
    result.entry.push_back(Moments::number(1));
    result.keep.push_back(cell.at(at.update, j, sigmoid));
    auto add = [&](unsigned gate, const Moments &input, const Moments &state) {
      result.gates[gate].input.push_back(input);
      result.gates[gate].state.push_back(state);
    };
    add(at.candidate, slope, slope * reset);
    Moments update =
        (h + n.scaled(-1)) * cell.slopeAt(at.update, j, sigmoidSlope);
    add(at.update, update, update);
    Moments factor = (resetsProduct ? slope * product : h) *
                     cell.slopeAt(at.reset, j, sigmoidSlope);
    add(at.reset, factor, factor);
    if (!resetsProduct)
      result.factors.push_back(reset);
  }
  return result;
}

CellFactors mpopt::factorsOfPlain(const CellModel &cell, Curve curve) {
  CellFactors result;
  result.gates.resize(1);
  for (size_t j = 0; j < cell.units.units; ++j) {
    Moments slope =
        curve == Curve::Tanh
            ? cell.slopeAt(0, j, tanhSlope)
            : cell.at(0, j, [](double x) { return x > 0 ? 1.0 : 0.0; });
    result.entry.push_back(Moments::number(1));
    result.keep.push_back(Moments::number(0));
    result.gates[0].input.push_back(slope);
    result.gates[0].state.push_back(slope);
  }
  return result;
}
