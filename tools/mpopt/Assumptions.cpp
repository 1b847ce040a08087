//===- Assumptions.cpp - What is taken for granted about inputs
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assumptions.h"

#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static constexpr Interval kDefaultBound = {-10, 10};
static constexpr double kDefaultMean = 0, kDefaultStd = 1;

// A bound alone says no more than that: uniform on it, or the default where an
// end is infinite.
static void setUniform(Assumption &assumption) {
  auto [lo, hi] = assumption.bound;
  if (std::isinf(lo) || std::isinf(hi)) {
    assumption.mean = kDefaultMean;
    assumption.std = kDefaultStd;
    return;
  }
  assumption.mean = lo / 2 + hi / 2;
  assumption.std = (hi / 2 - lo / 2) / std::sqrt(3.0);
}

static Assumption assume(StringRef name, const InputRange *range,
                         const std::optional<Interval> &assumed) {
  Assumption assumption{name.str(), kDefaultBound, kDefaultMean, kDefaultStd,
                        "default"};
  if (assumed) {
    assumption.bound = *assumed;
    assumption.source = "option";
    setUniform(assumption);
  }
  if (!range)
    return assumption;
  assumption.source = range->fromData ? "data" : "option";
  if (range->bound) {
    assumption.bound = *range->bound;
    setUniform(assumption);
  }
  if (range->mean) {
    assumption.mean = *range->mean;
    assumption.std = *range->std;
  }
  return assumption;
}

static std::string getInputName(BlockArgument input) {
  std::string name = getValueName(input).str();
  // mp IR that was written by hand.
  return name.empty() ? "arg" + std::to_string(input.getArgNumber()) : name;
}

llvm::Expected<std::vector<Assumption>>
mpopt::makeAssumptions(const Options &options, ModuleOp module) {
  std::vector<Assumption> assumptions;
  std::map<std::string, InputRange> unused = options.inputs;
  auto functions = module.getOps<func::FuncOp>();
  if (!functions.empty())
    for (BlockArgument input : (*functions.begin()).getArguments()) {
      std::string name = getInputName(input);
      auto range = options.inputs.find(name);
      bool named = range != options.inputs.end();
      unused.erase(name);
      if (named || isa<FloatType>(getElementType(input)))
        assumptions.push_back(
            assume(name, named ? &range->second : nullptr, options.assumed));
    }
  if (!unused.empty())
    return llvm::createStringError("--input: the model has no input '" +
                                   unused.begin()->first + "'");
  return assumptions;
}

void mpopt::setAssumptions(ArrayRef<Assumption> assumptions, ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return;
  func::FuncOp function = *functions.begin();
  llvm::StringMap<const Assumption *> byName;
  for (const Assumption &assumption : assumptions)
    byName[assumption.input] = &assumption;
  Builder builder(module.getContext());
  for (BlockArgument input : function.getArguments()) {
    const Assumption *assumption = byName.lookup(getInputName(input));
    if (!assumption)
      continue;
    auto number = [&](StringRef key, double value) {
      return builder.getNamedAttr(key, builder.getF64FloatAttr(value));
    };
    function.setArgAttr(
        input.getArgNumber(), "mp.assume",
        builder.getDictionaryAttr(
            {number("lo", assumption->bound.lo),
             number("hi", assumption->bound.hi),
             number("mean", assumption->mean), number("std", assumption->std),
             builder.getNamedAttr("source",
                                  builder.getStringAttr(assumption->source))}));
  }
}
