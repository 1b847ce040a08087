//===- OverflowSites.h - Results that leave their dtype ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An analysis of the module that MP201 and its specific forms (MP207-MP210,
// MP213) share: one site for each tensor, in the most specific form, so that no
// two of these rules report on the same tensor.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_OVERFLOWSITES_H
#define MPOPT_HAZARDS_OVERFLOWSITES_H

#include "mpopt/Hazards/RangeSupport.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mpopt {

/// The forms of an overflow, each with a rule of its own.
enum class OverflowForm {
  General,
  Exponential,
  Mask,
  SquareSum,
  Attention,
  Narrowing
};

/// A tensor that overflows its dtype.
struct OverflowSite {
  mlir::Value value;
  OverflowForm form;
  Certainty certainty;
  /// The overflow that this one follows from; null for a root.
  mlir::Value root;

  /// The op that computes the value; for a model's input, the first that reads
  /// it.
  mlir::Operation *op() const;
};

class OverflowSites {
public:
  OverflowSites(mlir::Operation *module, mlir::AnalysisManager &manager);
  /// The sites of the ops that a variation computes; `base` has the others.
  OverflowSites(const RangeAnalysis &variation, const OverflowSites &base);
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &analyses);

  /// The sites in program order.
  std::vector<OverflowSite> sites;
  /// Values that are not judged, as nothing is known of them.
  std::vector<mlir::Value> unknown;

  /// The site of `value`; null if it has none.
  const OverflowSite *find(mlir::Value value) const;
  const RangeAnalysis &ranges() const { return known; }

private:
  void judgeAll(mlir::Operation *root);
  void judgeOp(mlir::Operation *op);
  void judge(mlir::Value value);
  void judgeInput(mlir::BlockArgument input);
  mlir::Value findRoot(mlir::Operation *op, Certainty certainty) const;
  bool comesFromDivision(mlir::Value value) const;

  const RangeAnalysis &known;
  const OverflowSites *base = nullptr;
  llvm::DenseMap<mlir::Value, size_t> indices;
};

/// True if overflows of `value` are judged: it is a float and no constant.
bool isJudged(mlir::Value value);

/// The most specific form that an overflow of `value` has.
OverflowForm classifyOverflow(mlir::Value value, const RangeAnalysis &ranges);

/// True if the op is an exponential: it overflows from small arguments on in
/// every dtype.
bool isExponential(mlir::Operation *op);

/// The multiplication or division by a number that makes scores smaller,
/// between `scores` and a softmax; null if there is none.
mlir::Operation *findScale(mlir::Value scores);

/// Collects the constants from which `value` may have the huge negative numbers
/// of a mask: tensors, and single numbers of -`least` or below.
void findMasks(mlir::Value value, double least,
               llvm::SetVector<mlir::Operation *> &masks, unsigned depth = 8);
/// True if such a number is `value`, or is scaled or selected by the ops that
/// make it.
bool holdsMask(mlir::Value value, double least, unsigned depth = 6);

/// "likely reaches 70000, past 65504, the largest f16 value".
std::string describeOverflow(const OverflowSite &site,
                             const RangeAnalysis &ranges);

/// Fills in the fields that all forms have in common: ranges, root, causes.
void addSite(FindingBuilder &finding, const OverflowSite &site,
             const RangeAnalysis &ranges);

/// Adds the fix "keep `what` in f32", if f32 holds the values expected there.
void fixByWidening(FindingBuilder &finding, const OverflowSite &site,
                   const RangeAnalysis &ranges, const llvm::Twine &what);

} // namespace mpopt

#endif // MPOPT_HAZARDS_OVERFLOWSITES_H
