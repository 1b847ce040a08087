//===- Diff.cpp - mpopt --diff --------------------------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/Diff.h"

#include "mpopt/Dialect/Fingerprint.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/CheckModel.h"
#include "mpopt/Driver/Output.h"
#include "mpopt/Report/JsonReader.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// The two sides
//===----------------------------------------------------------------------===//

static FloatType getFloat(Value value) {
  return dyn_cast_if_present<FloatType>(getElementType(value));
}

/// Ops with a float result, but for constants and casts: what computes.
static void listOps(ModuleOp module, DiffSide &side) {
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
    side.ops.push_back({fingerprints.get(op, ""), getOpName(op), getOpType(op),
                        getDtypeName(type), std::nullopt});
  });
}

static void addBounds(ModuleOp module, const RangeAnalysis &ranges,
                      DiffSide &side) {
  llvm::StringMap<Interval> bounds;
  module.walk([&](Operation *op) {
    if (op->getNumResults() == 0 || isa<mp::ConstantOp, mp::CastOp>(op) ||
        !getFloat(op->getResult(0)))
      return;
    Cell computed = ranges.preRounding(op->getResult(0)).hull();
    if (!computed.empty())
      bounds.try_emplace(getOpName(op), Interval{computed.lo, computed.hi});
  });
  for (DiffOp &op : side.ops)
    if (auto found = bounds.find(op.name); found != bounds.end())
      op.bound = found->second;
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

/// Nothing if the model is at fault, which is printed.
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
  auto kept = [&](llvm::ArrayRef<KeptOpRef> list) {
    for (const KeptOpRef &op : list)
      side.needed.push_back(op.op.name);
  };
  CheckHooks hooks;
  hooks.imported = imported;
  hooks.checked = checked;
  hooks.kept = kept;
  std::optional<ModelReport> report = checkModel(options, path, hooks);
  if (!report)
    return std::nullopt;
  side.report = std::move(*report);
  return side;
}

static std::optional<DiffSide> readSide(const Options &options,
                                        StringRef path) {
  Expected<std::optional<ModelReport>> report = readReportFile(path);
  if (!report) {
    printError(llvm::toString(report.takeError()));
    return std::nullopt;
  }
  if (!*report)
    return judge(options, path);
  DiffSide side;
  side.report = std::move(**report);
  return side;
}

static bool isNarrow(StringRef dtype) {
  return dtype == "f16" || dtype == "bf16" || dtype.starts_with("f8");
}

/// The precision to which a converter brought `side`: that of most of its
/// narrow ops; empty if it has none.
static std::string getNarrowest(const DiffSide &side) {
  auto count = [&](StringRef dtype) {
    return llvm::count_if(side.ops,
                          [&](const DiffOp &op) { return op.dtype == dtype; });
  };
  auto half = count("f16"), brain = count("bf16");
  return half + brain == 0 ? "" : half >= brain ? "fp16" : "bf16";
}

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

static void compareFindings(DiffReport &diff) {
  llvm::StringSet<> ofA, ofB;
  for (const Finding &finding : diff.a.report.findings)
    ofA.insert(finding.fingerprint);
  for (const Finding &finding : diff.b.report.findings) {
    ofB.insert(finding.fingerprint);
    if (!ofA.contains(finding.fingerprint))
      diff.came.push_back(&finding);
    else
      ++diff.stayed;
  }
  for (const Finding &finding : diff.a.report.findings)
    if (!ofB.contains(finding.fingerprint))
      diff.went.push_back(&finding);
}

/// True if an end moved by a factor of two or more, or to the other side of 0.
static bool hasMoved(const Interval &a, const Interval &b) {
  auto moved = [](double from, double to) {
    if (from == to)
      return false;
    return !(from * to > 0) || std::abs(from) >= 2 * std::abs(to) ||
           std::abs(to) >= 2 * std::abs(from);
  };
  return moved(a.lo, b.lo) || moved(a.hi, b.hi);
}

static void compareOps(DiffReport &diff) {
  if (diff.a.ops.empty() || diff.b.ops.empty())
    return;
  llvm::StringMap<const DiffOp *> ofB;
  for (const DiffOp &op : diff.b.ops)
    ofB[op.fingerprint] = &op;
  llvm::StringSet<> partners;
  llvm::StringSet<> needed;
  for (const std::string &name : diff.a.needed)
    needed.insert(name);
  for (const DiffOp &op : diff.a.ops) {
    const DiffOp *other = ofB.lookup(op.fingerprint);
    if (!other) {
      diff.onlyA.push_back(&op);
      continue;
    }
    ++diff.matched;
    partners.insert(op.fingerprint);
    if (op.dtype != other->dtype)
      diff.dtypes.push_back({&op, other});
    if (op.bound && other->bound && hasMoved(*op.bound, *other->bound))
      diff.ranges.push_back({&op, other});
    if (diff.a.needed.empty() && getNarrowest(diff.b).empty())
      continue;
    if (other->dtype == "f32" && !needed.contains(op.name))
      diff.wide.push_back({&op, other});
    if (isNarrow(other->dtype) && !isNarrow(op.dtype) &&
        needed.contains(op.name))
      diff.narrowed.push_back({&op, other});
  }
  for (const DiffOp &op : diff.b.ops)
    if (!partners.contains(op.fingerprint))
      diff.onlyB.push_back(&op);
}

int mpopt::diff(const Options &options, StringRef version) {
  DiffReport diff;
  std::optional<DiffSide> b = readSide(options, options.models[1]);
  if (!b)
    return kFault;
  // A model of wide floats is judged as the converter wrote it: where findings
  // of `a` are gone from `b`, the converter has seen to them.
  Options ofA = options;
  std::string narrow = getNarrowest(*b);
  if (ofA.precision == "auto" && !narrow.empty())
    ofA.precision = narrow;
  std::optional<DiffSide> a = readSide(ofA, options.models[0]);
  if (!a)
    return kFault;
  bool converted = !narrow.empty() && getNarrowest(*a).empty();
  diff.a = std::move(*a);
  diff.b = std::move(*b);
  if (!converted)
    diff.a.needed.clear();
  printWarnings(diff.a.report);
  printWarnings(diff.b.report);
  compareFindings(diff);
  compareOps(diff);
  if (!converted) {
    diff.wide.clear();
    diff.narrowed.clear();
  }
  DiffWriter write = getDiffWriter(*options.format);
  if (Error error = writeOutput(options.output, [&](llvm::raw_ostream &os) {
        write(os, diff,
              {.color = wantsColor(options.output, options.color),
               .version = version});
      })) {
    printError(llvm::toString(std::move(error)));
    return kFault;
  }
  bool failing = llvm::any_of(diff.came, [&](const Finding *finding) {
    return isFailing(*finding, options.failOn);
  });
  return failing ? kFindings : kClean;
}
