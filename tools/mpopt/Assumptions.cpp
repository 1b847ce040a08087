//===- Assumptions.cpp - What is taken for granted about inputs
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assumptions.h"

#include "mpopt/Analysis/InputRanges.h"
#include "mpopt/Analysis/Names.h"
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

// What the model itself says of integers.
static Assumption assumeInteger(BlockArgument input) {
  IntegerInput described = describeInteger(input);
  Assumption assumption{getInputName(input), described.bound, NAN, NAN, "model",
                        described.why};
  if (described.expected) {
    Interval declared = std::exchange(assumption.bound, *described.expected);
    setUniform(assumption);
    assumption.bound = declared;
  }
  return assumption;
}

static Assumption assume(StringRef name, const InputRange *range,
                         const std::optional<Interval> &assumed) {
  Assumption assumption{name.str(),  kDefaultBound, kDefaultMean,
                        kDefaultStd, "default",     ""};
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
      Type type = getElementType(input);
      if (named || isa<FloatType>(type))
        assumptions.push_back(
            assume(name, named ? &range->second : nullptr, options.assumed));
      else if (isa<IntegerType>(type))
        assumptions.push_back(assumeInteger(input));
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
  // All at once: one by one would make as many lists of all.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument input : function.getArguments()) {
    const Assumption *assumption = byName.lookup(getInputName(input));
    // What the model says the analysis knows itself.
    if (!assumption || assumption->source == "model")
      continue;
    auto number = [&](StringRef key, double value) {
      return builder.getNamedAttr(key, builder.getF64FloatAttr(value));
    };
    NamedAttrList list(attributes[input.getArgNumber()]);
    list.set(
        "mp.assume",
        builder.getDictionaryAttr(
            {number("lo", assumption->bound.lo),
             number("hi", assumption->bound.hi),
             number("mean", assumption->mean), number("std", assumption->std),
             builder.getNamedAttr("source",
                                  builder.getStringAttr(assumption->source))}));
    attributes[input.getArgNumber()] = list.getDictionary(module.getContext());
  }
  function.setAllArgAttrs(attributes);
}
