//===- RefusedCodes.cpp - MP622: a runtime takes no such codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/QuantizationScale.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Support/TargetFile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <string>
#include <tuple>

namespace mpopt {
#define GEN_PASS_DEF_REFUSEDCODES
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
/// Codes of one kind, and the first of them with the op that has it.
struct Refused {
  size_t count = 0;
  Operation *op = nullptr;
  Value first;

  void add(Operation *its, Value codes) {
    if (count++ == 0)
      std::tie(op, first) = std::pair(its, codes);
  }
};

struct RefusedCodes : mpopt::impl::RefusedCodesBase<RefusedCodes> {
  void check(ModuleOp module) override;
};
} // namespace

/// The name of a code's type in profiles of targets, as `u8`.
static std::string nameOf(Type codes) {
  if (auto integer = dyn_cast<IntegerType>(codes))
    return (integer.isUnsigned() ? "u" : "s") +
           std::to_string(integer.getWidth());
  return getFloatFormat(codes)->name.str();
}

/// The codes that an op makes or reads as they stand in the file, and their
/// zero point.
static std::pair<Value, Value> findStoredCodes(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::pair<Value, Value>>(op)
      .Case([](mp::QuantizeOp its) {
        return std::pair(its.getResult(), its.getZeroPoint());
      })
      .Case([](mp::DequantizeOp its) {
        bool isMade = its.getInput().getDefiningOp<mp::QuantizeOp>() != nullptr;
        return std::pair(isMade ? Value() : its.getInput(), its.getZeroPoint());
      })
      .Case([](mp::DynamicQuantizeOp its) {
        return std::pair(its.getValues(), Value());
      })
      .Default([](Operation *) { return std::pair<Value, Value>(); });
}

void RefusedCodes::check(ModuleOp module) {
  if (!isQuantized(module))
    return;
  const auto &ranges = getAnalysis<RangeAnalysis>();
  const std::string &target = ranges.target().name();
  CodeLimits limits = findCodeLimits(target);
  if (limits.types.empty() && limits.zeroPoints)
    return;
  llvm::MapVector<std::string, Refused, std::map<std::string, unsigned>> types;
  Refused zeroPoints;
  forEachOp([&](Operation *op) {
    auto [codes, zeroPoint] = findStoredCodes(op);
    if (!codes || !storageFormatOf(getElementType(codes)))
      return;
    std::string name = nameOf(getElementType(codes));
    if (!limits.types.empty() && !llvm::is_contained(limits.types, name))
      return types[name].add(op, codes);
    auto zeros = zeroPoint && !limits.zeroPoints
                     ? readElements(zeroPoint, ranges)
                     : std::nullopt;
    if (zeros && llvm::any_of(*zeros, [](double zero) { return zero != 0; }))
      zeroPoints.add(op, codes);
  });
  SmallVector<std::string, 4> reasons;
  auto add = [&](const Refused &refused, const std::string &what) {
    reasons.push_back("no " + what + " (" + std::to_string(refused.count) +
                      ", first '" + getTensorName(refused.first) + "')");
  };
  for (const auto &[name, refused] : types)
    add(refused, "codes of type " + name);
  if (zeroPoints.count)
    add(zeroPoints, "zero points other than 0");
  if (reasons.empty())
    return;
  const Refused &worst = types.empty() ? zeroPoints : types.front().second;
  report(worst.op, worst.first)
      .message(target + " takes " + llvm::join(reasons, ", ") +
               ": it refuses the file");
}
