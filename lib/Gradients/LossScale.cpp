//===- LossScale.cpp - Which loss scales work
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Gradients/LossScale.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// More of the elements than this may not be lost at the bottom of the window.
static constexpr double kMostLost = 0.1;
/// Fewer are lost in formats that need no scale, at the least one.
static constexpr double kLeastLost = 1e-3;
/// Loss scalers start here.
static constexpr int kUsualStart = 16;
/// Room below the top: gradients grow for a while at the start of training.
static constexpr int kRoom = 2;

/// The gradient before it was widened to its parameter's dtype, and perhaps
/// moved: exporters transpose weights.
static Value findComputed(Value gradient) {
  while (Operation *op = gradient.getDefiningOp()) {
    if (!isa<mp::CastOp>(op) && !isViewLike(op))
      break;
    gradient = op->getOperand(0);
  }
  return gradient;
}

TrainingEstimate::TrainingEstimate(Operation *module, AnalysisManager &manager)
    : analysis(&manager.getAnalysis<GradientAnalysis>()) {
  module->walk([&](FunctionOpInterface function) {
    if (function.isExternal())
      return;
    Operation *terminator = function.getFunctionBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      auto name = function.getResultAttrOfType<StringAttr>(index, "mp.name");
      StringRef text = name ? name.getValue() : StringRef();
      if (!text.consume_front("grad(") || !text.consume_back(")") ||
          !analysis->isGradient(value))
        continue;
      ParameterGradient &parameter = list.emplace_back();
      parameter.name = text.str();
      parameter.gradient = value;
      parameter.computed = findComputed(value);
      MaybeShape shape = getShape(value);
      parameter.rank = shape ? int64_t(shape->size()) : 0;
      if (auto count = getNumElements(shape))
        parameter.count = double(*count);
      parameter.estimate = analysis->estimate(value);
    }
  });
  findWindow();
}

void TrainingEstimate::findWindow() {
  double all = 0;
  auto live = [](const ParameterGradient &parameter) {
    const GradientEstimate &estimate = parameter.estimate;
    return estimate.known && estimate.rms > 0
               ? parameter.count * (1 - estimate.zero)
               : 0.0;
  };
  for (const ParameterGradient &parameter : list) {
    all += live(parameter);
    if (parameter.estimate.known && parameter.estimate.most < range.hi) {
      range.hi = parameter.estimate.most;
      range.top = parameter.estimate.limit;
    }
  }
  narrow = range.hi < LostShare::kLast;
  for (size_t i = 0; i < LostShare::kCount; ++i) {
    for (const ParameterGradient &parameter : list)
      if (double part = live(parameter); part > 0)
        lost[i] += part / all * parameter.estimate.lost[i];
    narrow |= lost[i] > kLeastLost;
  }

  range.floor = lost.at(range.hi);
  for (int exponent = LostShare::kFirst; exponent <= LostShare::kLast;
       ++exponent)
    if (lost.at(exponent) < range.floor + kMostLost) {
      range.lo = exponent;
      break;
    }
  double worst = 0;
  int below = range.lo ? *range.lo - 1 : LostShare::kLast;
  for (auto [index, parameter] : llvm::enumerate(list)) {
    double part = live(parameter) * parameter.estimate.lost.at(below);
    if (part > worst) {
      worst = part;
      range.bottom = int(index);
    }
  }
  if (range.lo && range.hi >= LostShare::kFirst) {
    int start = std::max(*range.lo, std::min(range.hi - kRoom, kUsualStart));
    range.recommended = std::exp2(std::min(start, range.hi));
  }
}

bool TrainingEstimate::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !preserved.isPreserved<TrainingEstimate>();
}
