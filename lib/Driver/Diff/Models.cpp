//===- Models.cpp - Models and reports as sides of a comparison -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sides.h"

#include "mpopt/Dialect/Fingerprint.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Report/JsonReader.h"
#include "mpopt/Support/InputFile.h"
#include "passes/transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::diffing;
using llvm::Expected;

static FloatType getFloat(Value value) {
  return dyn_cast_if_present<FloatType>(getElementType(value));
}

/// Ops with a float result, but for constants and casts: what computes. Marks
/// composites that are written out, since one side may have them as ops.
static void listOps(ModuleOp module, DiffSide &side) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createRecognizeIdioms());
  (void)passes.run(module);
  Fingerprints fingerprints(module);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() == 0 || isa<mp::ConstantOp, mp::IdentityOp>(op))
      return;
    FloatType type = getFloat(op->getResult(0));
    if (!type)
      return;
    if (isa<mp::CastOp>(op)) {
      side.casts += bool(getFloat(op->getOperand(0)));
      return;
    }
    DiffOp &entry = side.ops.emplace_back();
    entry.fingerprint = fingerprints.get(op, "");
    entry.name = entry.op = getOpName(op);
    entry.type = getOpType(op);
    entry.dtype = getDtypeName(type);
    if (getProductOperands(op))
      entry.readsCodes =
          llvm::all_of(op->getOperands().take_front(2), [](Value operand) {
            return getMaker<mp::DequantizeOp>(operand, Peel::CastsAndViews);
          });
  });
}

/// The constants that an op reads, behind casts and views.
static std::vector<std::pair<std::string, double>>
listConstants(Operation *op, const RangeAnalysis &ranges) {
  std::vector<std::pair<std::string, double>> constants;
  for (Value operand : op->getOperands()) {
    auto constant = dyn_cast_or_null<mp::ConstantOp>(
        getMaker(operand, Peel::CastsAndViews));
    if (!constant || !getFloat(constant.getResult()))
      continue;
    Value value = constant.getResult();
    constants.emplace_back(getTensorName(value),
                           ranges.preRounding(value).hull().absMax());
  }
  return constants;
}

static void addBounds(ModuleOp module, const RangeAnalysis &ranges,
                      DiffSide &side) {
  llvm::StringMap<Interval> bounds;
  llvm::StringMap<std::vector<std::pair<std::string, double>>> constants;
  module.walk([&](Operation *op) {
    if (op->getNumResults() == 0 || isa<mp::ConstantOp, mp::CastOp>(op) ||
        !getFloat(op->getResult(0)))
      return;
    constants.try_emplace(getOpName(op), listConstants(op, ranges));
    Cell computed = ranges.preRounding(op->getResult(0)).hull();
    if (!computed.empty())
      bounds.try_emplace(getOpName(op), Interval{computed.lo, computed.hi});
  });
  for (DiffOp &op : side.ops) {
    if (auto found = bounds.find(op.name); found != bounds.end())
      op.bound = found->second;
    op.constants = constants.lookup(op.name);
  }
}

// A fingerprint is of the rule, too, so that a tensor is matched by any of its
// findings.
void diffing::listFoundOps(DiffSide &side) {
  side.ops.clear();
  llvm::StringSet<> fingerprints;
  for (const Finding &finding : side.report.findings) {
    if (finding.tensor.empty() ||
        !fingerprints.insert(finding.fingerprint).second)
      continue;
    DiffOp &op = side.ops.emplace_back();
    op.fingerprint = finding.fingerprint;
    op.name = finding.tensor;
    op.type = finding.op.type;
    op.op = finding.op.name;
    op.dtype = finding.dtype;
    op.bound = finding.bound;
  }
}

static Expected<std::optional<ModelReport>> readReportFile(StringRef path) {
  if (path == "-")
    return std::nullopt;
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(buffer.takeError()));
  StringRef text = (*buffer)->getBuffer();
  if (!text.ltrim().starts_with("{"))
    return std::nullopt;
  Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(value.takeError()));
  std::string error;
  ModelReport report;
  const llvm::json::Object *object = value->getAsObject();
  readReport(JsonReader(*object, "", error), report);
  if (!error.empty())
    return llvm::createStringError(path +
                                   ": is no report of one model: " + error);
  return std::move(report);
}

static std::optional<DiffSide> judge(const Options &options, StringRef path) {
  DiffSide side;
  ModuleOp module;
  auto imported = [&](const ImportResult &result) {
    module = *result.module;
    listOps(module, side);
  };
  auto checked = [&](const ImportResult &, const RangeAnalysis &ranges) {
    addBounds(module, ranges, side);
  };
  auto kept = [&](llvm::ArrayRef<KeptOpRef> list, unsigned) {
    for (const KeptOpRef &op : list)
      side.needed.push_back(op.op.name);
  };
  auto quantized = [&](std::vector<QuantizedTensor> list) {
    side.quantized = std::move(list);
  };
  CheckHooks hooks;
  hooks.quantized = quantized;
  hooks.imported = imported;
  hooks.checked = checked;
  hooks.kept = kept;
  std::optional<ModelReport> report = checkModel(options, path, hooks);
  if (!report)
    return std::nullopt;
  side.knowsNeeded = true;
  side.report = std::move(*report);
  return side;
}

std::optional<DiffSide> diffing::readModelSide(const Options &options,
                                               StringRef path) {
  Expected<std::optional<ModelReport>> report = readReportFile(path);
  if (!report) {
    printError(llvm::toString(report.takeError()));
    return std::nullopt;
  }
  std::optional<DiffSide> side;
  if (*report) {
    side.emplace();
    side->kind = DiffKind::Report;
    side->report = std::move(**report);
    listFoundOps(*side);
  } else {
    side = judge(options, path);
  }
  if (side) {
    printWarnings(side->report);
    side->path = side->report.path.empty() ? path.str() : side->report.path;
  }
  return side;
}
