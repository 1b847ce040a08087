//===- DescribeTraining.cpp - Estimates of gradients as plain data
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/DescribeTraining.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/GradientErrors.h"
#include "mpopt/Gradients/Verdicts.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Hazards/ParameterUpdates.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using llvm::json::OStream;

//===----------------------------------------------------------------------===//
// Plain data
//===----------------------------------------------------------------------===//

/// The name of the value whose gradient it is; empty if it has none.
static StringRef gradientName(Value value) {
  StringRef name = getValueName(value);
  return name.consume_front("grad(") && name.consume_back(")") ? name
                                                               : StringRef();
}

static GradientReport describeGradient(StringRef name, Value value,
                                       Value computed,
                                       const GradientEstimate &estimate,
                                       const GradientAnalysis &gradients,
                                       const RangeAnalysis &ranges) {
  GradientReport report;
  report.name = name.str();
  report.dtype = getDtypeName(getElementType(computed));
  if (MaybeShape shape = getShape(value))
    for (int64_t dim : *shape)
      report.shape.push_back(dim < 0 ? -1 : dim);
  report.known = estimate.known;
  if (estimate.known) {
    report.rms = estimate.rms;
    report.absMax = estimate.absMax;
    report.zero = estimate.zero;
    report.lostUnscaled = estimate.lost.at(0);
    report.lostUsual = estimate.lost.at(16);
    report.sizes = gradients.sizes(value);
  }
  Cell hull = ranges.preRounding(computed).hull();
  report.bound = {hull.lo, hull.hi};
  return report;
}

/// A name for people: of the gradient, also where it is widened or moved before
/// it has it, or of the op that computes it.
static std::string nameOf(Value value) {
  for (Value next = value;;) {
    StringRef name = gradientName(next);
    if (!name.empty())
      return "gradient of " + name.str();
    if (!next.hasOneUse())
      break;
    Operation *user = *next.user_begin();
    if (user->getNumResults() != 1 ||
        (!isa<mp::CastOp>(user) && !isViewLike(user)))
      break;
    next = user->getResult(0);
  }
  if (Operation *op = value.getDefiningOp())
    return "gradient at " + getOpRef(op).name;
  return keys::kGradient.str();
}

static ScaleReport describeWindow(const TrainingEstimate &estimate) {
  const ScaleWindow &window = estimate.window();
  ScaleReport scale;
  scale.lo = window.lo;
  if (window.hi < LostShare::kLast)
    scale.hi = window.hi;
  scale.recommended = window.recommended;
  if (window.top) {
    scale.top = nameOf(window.top);
    scale.topDtype = getDtypeName(getElementType(window.top));
  }
  if (window.bottom >= 0)
    scale.bottom = estimate.parameters()[window.bottom].name;
  scale.lostBelow = estimate.lostAt(window.lo ? *window.lo - 1 : 0);
  scale.floor = window.floor;
  scale.needed = estimate.needsScale();
  return scale;
}

TrainingReport mpopt::describeGradients(ModuleOp module,
                                        const TrainingEstimate &estimate,
                                        const ParameterUpdates &updates,
                                        GradientErrorOf errorOf,
                                        const RangeAnalysis &ranges,
                                        bool wantTensors) {
  TrainingReport report;
  const GradientAnalysis &gradients = estimate.gradients();
  llvm::StringSet<> parameters;
  for (const ParameterGradient &parameter : estimate.parameters()) {
    parameters.insert(parameter.name);
    report.parameters.push_back(
        describeGradient(parameter.name, parameter.gradient, parameter.computed,
                         parameter.estimate, gradients, ranges));
    if (parameter.estimate.known)
      report.parameters.back().error = errorOf(parameter.gradient);
    if (parameter.estimate.known && parameter.estimate.most < 16)
      report.overflowing.push_back(parameter.name);
  }
  if (wantTensors)
    module.walk([&](Operation *op) {
      for (Value value : op->getResults())
        if (StringRef name = gradientName(value); !name.empty() &&
                                                  !parameters.contains(name) &&
                                                  gradients.isGradient(value))
          report.tensors.push_back(describeGradient(name, value, value,
                                                    gradients.estimate(value),
                                                    gradients, ranges));
    });

  for (const ParameterUpdate &update : updates.updates()) {
    UpdateReport &step = report.updates.emplace_back();
    step.parameter = update.gradient->name;
    step.size = update.step.typical();
    step.lostF16 = update.step.lost(FloatFormat::f16()).value_or(0);
    step.lostBF16 = update.step.lost(FloatFormat::bf16()).value_or(0);
  }

  report.scale = describeWindow(estimate);
  GradientVerdicts verdicts = judgeGradients(estimate);
  auto names = [](ArrayRef<const ParameterGradient *> list) {
    std::vector<std::string> result;
    for (const ParameterGradient *parameter : list)
      result.push_back(parameter->name);
    return result;
  };
  report.dead = names(verdicts.dead);
  report.vanishing = names(verdicts.vanishing);
  report.exploding = names(verdicts.exploding);
  for (Value units : findDeadUnits(module, ranges))
    report.deadUnits.push_back(getValueName(units).str());
  return report;
}

//===----------------------------------------------------------------------===//
// mpopt-train/1
//===----------------------------------------------------------------------===//

/// Predictions are numbers: an estimate that is not finite is none.
static bool isNumber(const GradientReport &gradient) {
  return gradient.known && std::isfinite(gradient.rms) &&
         std::isfinite(gradient.absMax);
}

static void writeGradient(OStream &json, const GradientReport &gradient,
                          bool parameter,
                          const UpdateReport *update = nullptr) {
  json.attributeObject(jsonText(gradient.name), [&] {
    json.attribute("absmax", jsonNumber(gradient.absMax));
    json.attribute("rms", jsonNumber(gradient.rms));
    json.attribute("zero", gradient.zero);
    json.attribute("dtype", gradient.dtype);
    if (parameter)
      json.attribute("flush_fp16", gradient.lostUnscaled);
    if (update) {
      json.attribute("lost_fp16", update->lostF16);
      json.attribute("lost_bf16", update->lostBF16);
    }
  });
}

static void writeNames(OStream &json, StringRef key,
                       llvm::ArrayRef<std::string> names) {
  json.attributeArray(key, [&] {
    for (StringRef name : names)
      json.value(jsonText(name));
  });
}

void mpopt::dumpGradients(llvm::raw_ostream &os, StringRef model,
                          const TrainingReport &report) {
  OStream json(os, 1);
  llvm::StringMap<const UpdateReport *> updates;
  for (const UpdateReport &update : report.updates)
    updates[update.parameter] = &update;
  json.object([&] {
    json.attribute("schema", "mpopt-train/1");
    json.attribute("model", jsonText(model));
    json.attributeObject("parameters", [&] {
      for (const GradientReport &gradient : report.parameters)
        if (isNumber(gradient))
          writeGradient(json, gradient, /*parameter=*/true,
                        updates.lookup(gradient.name));
    });
    json.attributeObject("tensors", [&] {
      for (const GradientReport &gradient : report.tensors)
        if (isNumber(gradient))
          writeGradient(json, gradient, /*parameter=*/false);
    });
    json.attributeObject(keys::kLossScale, [&] {
      const ScaleReport &scale = report.scale;
      json.attribute("lo", scale.lo ? llvm::json::Value(*scale.lo) : nullptr);
      json.attribute("hi", scale.hi.value_or(60));
      if (scale.recommended)
        json.attribute("recommended", *scale.recommended);
    });
    json.attribute("forward_nonfinite", report.forwardOverflows);
    json.attributeObject("verdicts", [&] {
      writeNames(json, "dead", report.dead);
      writeNames(json, "vanish", report.vanishing);
      writeNames(json, "explode", report.exploding);
      writeNames(json, "dead_units", report.deadUnits);
      writeNames(json, "overflow_16", report.overflowing);
    });
  });
  os << '\n';
}
