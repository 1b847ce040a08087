//===- Trees.cpp - Ensembles of trees and label tables, from ONNX ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which leaf an input reaches, and which entry of a table it finds, is not
// followed: an opaque op stands for the choice. What can come of it is: a score
// is a sum of one leaf of each tree, and is clipped to what such sums can be; a
// label is an entry of the table. Not covered: labels that are strings, the
// probit transform, TreeEnsemble of version 5.
//
//===----------------------------------------------------------------------===//

#include "Classic.h"

#include "mpopt/Import/Onnx/Arguments.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// The op that chooses.
static Value makeChoice(NodeContext &ctx, Type type) {
  SmallVector<Value> inputs = ctx.inputs();
  return mp::OpaqueOp::create(ctx.builder(), ctx.loc(), TypeRange(type),
                              (ctx.domain() + "::" + ctx.type()).str(), inputs,
                              0)
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Ensembles
//===----------------------------------------------------------------------===//

namespace {
/// The leaves' weights by tree and target.
struct Leaves {
  struct Range {
    double lo = INFINITY, hi = -INFINITY;
    void add(double value) {
      lo = std::min(lo, value);
      hi = std::max(hi, value);
    }
  };
  std::map<std::pair<int64_t, int64_t>, Range> byTree; ///< (tree, target)
  int64_t trees = 0;

  /// False if the lists do not fit each other.
  bool read(NodeContext &ctx, StringRef kind, int64_t targets);
  /// The range of the target's scores; `base` is added to each.
  Range sum(int64_t target, StringRef aggregate, double base) const;
};
} // namespace

bool Leaves::read(NodeContext &ctx, StringRef kind, int64_t targets) {
  SmallVector<int64_t> owners = ctx.getInts((kind + "_treeids").str()),
                       ids = ctx.getInts((kind + "_ids").str());
  auto weights = ctx.findFloats((kind + "_weights").str());
  if (!weights || owners.size() != weights->size() ||
      ids.size() != weights->size() || weights->empty())
    return false;
  for (auto [tree, target, weight] : llvm::zip_equal(owners, ids, *weights)) {
    if (target < 0 || target >= targets || !std::isfinite(weight))
      return false;
    byTree[{tree, target}].add(weight);
  }
  SmallVector<int64_t> all = ctx.getInts("nodes_treeids");
  llvm::sort(all);
  all.erase(llvm::unique(all), all.end());
  trees = int64_t(all.size());
  return trees > 0;
}

Leaves::Range Leaves::sum(int64_t target, StringRef aggregate,
                          double base) const {
  Range result{0, 0};
  double magnitude = std::fabs(base);
  bool isExtreme = aggregate == "MIN" || aggregate == "MAX";
  for (const auto &[key, leaf] : byTree) {
    if (key.second != target)
      continue;
    // Other leaves of the tree may say nothing of the target.
    double lo = std::min(leaf.lo, 0.0), hi = std::max(leaf.hi, 0.0);
    result.lo = isExtreme ? std::min(result.lo, lo) : result.lo + lo;
    result.hi = isExtreme ? std::max(result.hi, hi) : result.hi + hi;
    magnitude += std::max(-lo, hi);
  }
  if (aggregate == "AVERAGE") {
    result.lo /= double(trees);
    result.hi /= double(trees);
  }
  // Kernels add in float32, in any order. The ends are constants, which a
  // precision may round to 8 bits.
  double off = magnitude *
               (double(trees + 4) * FloatFormat::f32().unitRoundoff() + 0x1p-7);
  result = {result.lo + base - off, result.hi + base + off};
  // Where no leaf names the target ONNX Runtime leaves out its base.
  return {std::min(result.lo, 0.0), std::max(result.hi, 0.0)};
}

/// Scores [N, count], each within its range.
static Value makeScores(NodeContext &ctx, ArrayRef<Leaves::Range> ranges) {
  MaybeShape shape = getShape(ctx.input(0));
  int64_t rows = shape && shape->size() == 2 ? (*shape)[0] : kDynamic;
  int64_t count = ranges.size();
  Value scores = makeChoice(
      ctx, getTensorType(Shape{rows, count}, ctx.builder().getF32Type()));
  SmallVector<double> low, high;
  for (const Leaves::Range &range : ranges) {
    low.push_back(range.lo);
    high.push_back(range.hi);
  }
  // No sum of leaves is NaN.
  scores = ctx.make<mp::WhereOp>(ctx.make<mp::IsNanOp>(scores),
                                 makeFloats(ctx, {0}, {}), scores);
  // A clip has one number at each end.
  Value most = makeFloats(ctx, {*llvm::max_element(high)}, {}),
        least = makeFloats(ctx, {*llvm::min_element(low)}, {});
  if (count == 1)
    return ctx.make<mp::ClipOp>(scores, least, most);
  Value below =
      ctx.make<mp::MinOp>(ValueRange{scores, makeFloats(ctx, high, {count})});
  return ctx.make<mp::MaxOp>(ValueRange{below, makeFloats(ctx, low, {count})});
}

/// The ranges after `post_transform`; false if it has no counterpart.
static bool transformRanges(NodeContext &ctx,
                            MutableArrayRef<Leaves::Range> ranges) {
  StringRef transform = ctx.getString("post_transform", "NONE");
  if (transform == "NONE")
    return true;
  if (transform != "LOGISTIC" && transform != "SOFTMAX" &&
      transform != "SOFTMAX_ZERO")
    return false;
  for (Leaves::Range &range : ranges)
    range = {0, 1 + 0x1p-6};
  return true;
}

/// More results than any forest has: each has a bound of its own.
static constexpr int64_t kMostTargets = 1 << 16;

static LogicalResult lowerTreeRegressor(NodeContext &ctx) {
  int64_t targets = ctx.getInt("n_targets", 1);
  Leaves leaves;
  auto base = ctx.findFloats("base_values");
  if (targets < 1 || targets > kMostTargets ||
      !leaves.read(ctx, "target", targets) ||
      (base && int64_t(base->size()) != targets))
    return ctx.unsupported();
  SmallVector<Leaves::Range> ranges;
  for (int64_t target = 0; target < targets; ++target)
    ranges.push_back(leaves.sum(target,
                                ctx.getString("aggregate_function", "SUM"),
                                base ? (*base)[target] : 0));
  if (!transformRanges(ctx, ranges))
    return ctx.unsupported();
  ctx.setOutput(0, makeScores(ctx, ranges));
  return success();
}

/// Label and scores. Of two classes whose leaves name one, the other's score is
/// the negated one, or what is left of 1; ONNX Runtime leaves out some
/// transforms of these.
static LogicalResult lowerTreeClassifier(NodeContext &ctx) {
  SmallVector<int64_t> labels = ctx.getInts("classlabels_int64s");
  int64_t classes = labels.size();
  Leaves leaves;
  auto base = ctx.findFloats("base_values");
  if (classes < 2 || !leaves.read(ctx, "class", classes) ||
      (base && int64_t(base->size()) > classes))
    return ctx.unsupported();
  SmallVector<Leaves::Range> ranges;
  for (int64_t target = 0; target < classes; ++target)
    ranges.push_back(leaves.sum(
        target, "SUM",
        base && target < int64_t(base->size()) ? (*base)[target] : 0));
  if (classes == 2) {
    Leaves::Range both{0, 1};
    for (const Leaves::Range &range : ranges)
      for (double end : {range.lo, range.hi})
        for (double score : {end, -end, 1 - end})
          both.add(score + std::copysign(0x1p-6, score));
    ranges = {both, both};
  }
  SmallVector<Leaves::Range> plain = ranges;
  if (!transformRanges(ctx, ranges))
    return ctx.unsupported();
  if (classes == 2)
    for (auto [range, before] : llvm::zip_equal(ranges, plain)) {
      range.add(before.lo);
      range.add(before.hi);
    }
  MaybeShape shape = getShape(ctx.input(0));
  int64_t rows = shape && shape->size() == 2 ? (*shape)[0] : kDynamic;
  Value label =
      makeChoice(ctx, getTensorType(Shape{rows}, ctx.builder().getI64Type()));
  ctx.setOutput(0, ctx.make<mp::GatherOp>(ctx.makeInts(labels), label, 0));
  if (ctx.hasOutput(1))
    ctx.setOutput(1, makeScores(ctx, ranges));
  return success();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// An entry of the table, or the default, for each element.
static LogicalResult lowerLabelEncoder(NodeContext &ctx) {
  Value table;
  if (auto floats = ctx.findFloats("values_floats");
      floats && !floats->empty()) {
    floats->push_back(ctx.getFloat("default_float", -0.0));
    table = makeFloats(ctx, *floats, {int64_t(floats->size())});
  } else if (SmallVector<int64_t> ints = ctx.getInts("values_int64s");
             !ints.empty()) {
    ints.push_back(ctx.getInt("default_int64", -1));
    table = ctx.makeInts(ints);
  }
  if (!table)
    return ctx.unsupported();
  Value choice = makeChoice(
      ctx, getTensorType(getShape(ctx.input(0)), ctx.builder().getI64Type()));
  ctx.setOutput(0, ctx.make<mp::GatherOp>(table, choice, 0));
  return success();
}

void onnx_import::registerTreeLowerings(LoweringRegistry &registry) {
  // The domain of ONNX-ML.
  constexpr StringRef kDomain = "ai.onnx.ml";
  registry.add(kDomain, "LabelEncoder", withInputs<1, lowerLabelEncoder>);
  registry.add(kDomain, "TreeEnsembleClassifier",
               withInputs<1, lowerTreeClassifier>);
  registry.add(kDomain, "TreeEnsembleRegressor",
               withInputs<1, lowerTreeRegressor>);
}
