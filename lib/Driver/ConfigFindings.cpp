//===- ConfigFindings.cpp - Settings of a training as findings ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/ConfigFindings.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/ModuleNames.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mpopt;

/// The constant behind views of it; null if there is none.
static Value findParameter(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isViewLike(op)) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return isa_and_nonnull<mp::ConstantOp>(op) ? value : Value();
}

static std::vector<LinearLayer> findLayers(ModuleOp module) {
  std::vector<LinearLayer> layers;
  module.walk([&](Operation *op) {
    if (!isa<mp::MatMulOp, mp::GemmOp, mp::LinearOp>(op))
      return;
    Value weight = op->getOperand(1);
    MaybeShape shape = getShape(weight);
    Value parameter = findParameter(weight);
    if (!parameter || !shape || shape->size() != 2)
      return;
    layers.push_back({getModuleName(op, parameter), (*shape)[0], (*shape)[1]});
  });
  return layers;
}

std::optional<Finding> mpopt::makeFinding(const Options &options,
                                          const TrainFault &fault) {
  auto rule = llvm::find_if(options.rules, [&](const RuleInfo *info) {
    return info->name == fault.rule;
  });
  if (rule == options.rules.end())
    return std::nullopt;
  Finding finding;
  finding.rule = (*rule)->id;
  finding.severity = (*rule)->severity;
  finding.op = {fault.key, "Setting", "", "setting"};
  finding.message = fault.text;
  if (fault.line)
    finding.location = SourceLine{options.trainFile, fault.line};
  std::string key = fault.rule + "\n" + fault.key + "\n" + fault.text;
  finding.fingerprint = llvm::utohexstr(llvm::xxh3_64bits(key),
                                        /*LowerCase=*/true, /*Width=*/16);
  return finding;
}

std::vector<Finding> mpopt::findConfigFaults(const Options &options,
                                             ModuleOp module) {
  std::vector<TrainFault> faults = options.train->faults;
  if (options.train->fp8.recipe)
    llvm::append_range(faults,
                       judgeLayers(options.train->fp8, findLayers(module)));
  std::vector<Finding> findings;
  for (const TrainFault &fault : faults)
    if (std::optional<Finding> finding = makeFinding(options, fault)) {
      // A question, of which no run is known that kernels would refuse.
      if (fault.key == "--precision")
        finding->severity = Severity::Note;
      findings.push_back(std::move(*finding));
    }
  return findings;
}
