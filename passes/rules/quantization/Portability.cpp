//===- Portability.cpp - MP614: other targets give other results
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of codes and zero points alone: what the formats of floats change is
// asked for by `--target`.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/QuantizationScale.h"
#include "mpopt/Propagate/CodeSums.h"
#include "mpopt/Support/TargetFile.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_PORTABILITY
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
/// The faults on one target: ops of each kind, and the worst of pairs.
struct Troubles {
  size_t pairs = 0, sums = 0, zeroPoints = 0;
  double share = 0;
  Operation *first = nullptr;

  bool operator==(const Troubles &other) const {
    return pairs == other.pairs && sums == other.sums &&
           zeroPoints == other.zeroPoints;
  }
};

struct Portability : mpopt::impl::PortabilityBase<Portability> {
  void check(ModuleOp module) override;

private:
  void look(Operation *op, const CodeArithmetic &target, Troubles &found,
            const RangeAnalysis &ranges);
};
} // namespace

void Portability::look(Operation *op, const CodeArithmetic &target,
                       Troubles &found, const RangeAnalysis &ranges) {
  size_t before = found.pairs + found.sums + found.zeroPoints;
  if (auto product = findCodes(op, target.widestBits)) {
    auto pairs = findPairs(op, *product, ranges, target);
    if (pairs && pairs->expected > threshold("portable-share") * pairs->count) {
      ++found.pairs;
      found.share = std::max(found.share, pairs->expected / pairs->count);
    }
    double limit = std::ldexp(1.0, int(target.accumulatorBits) - 1);
    found.sums += llvm::any_of(addUpCodes(*product, ranges, limit),
                               [&](const ChannelSum &sum) {
                                 return std::fabs(sum.expected) >= limit;
                               });
  }
  if (auto dequantize = dyn_cast<mp::DequantizeOp>(op);
      dequantize && target.dequantised) {
    auto zeros = readElements(dequantize.getZeroPoint(), ranges);
    found.zeroPoints +=
        zeros && llvm::any_of(*zeros, [&](double zero) {
          return std::fabs(zero) >= target.dequantised->overflowFrom;
        });
  }
  if (found.pairs + found.sums + found.zeroPoints > before && !found.first)
    found.first = op;
}

static std::string describe(const Troubles &found) {
  SmallVector<std::string, 3> parts;
  auto add = [&](size_t count, StringRef what) {
    if (count > 0)
      parts.push_back(std::to_string(count) + " " + what.str());
  };
  add(found.pairs, "products lose pairs (MP607)");
  add(found.sums, "sums wrap (MP606)");
  add(found.zeroPoints, "zero points are Inf (MP608)");
  return llvm::join(parts, " and ");
}

void Portability::check(ModuleOp module) {
  if (!isQuantized(module))
    return;
  const auto &ranges = getAnalysis<RangeAnalysis>();
  auto lookAt = [&](const CodeArithmetic &target) {
    Troubles found;
    forEachOp([&](Operation *op) { look(op, target, found, ranges); });
    return found;
  };
  Troubles judged = lookAt(ranges.target().codes());
  std::string table;
  Operation *first = nullptr;
  for (const std::vector<std::string> &names : groupByCodes()) {
    Troubles found =
        lookAt((*llvm::cantFail(findTarget(names.front()))).codes());
    if (found == judged)
      continue;
    std::string what = describe(found);
    table += (table.empty() ? "" : "; ") + llvm::join(names, ", ") + ": " +
             (what.empty() ? "none of the findings about products" : what);
    first = found.first ? found.first : first;
  }
  if (!first)
    first = judged.first;
  if (table.empty() || !first)
    return;
  report(first, first->getResult(0), Certainty::Likely)
      .message("the same file gives other results elsewhere than on " +
               ranges.target().name() + ": " + table);
}
