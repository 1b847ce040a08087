//===- RangeDriver.h - The walk behind a RangeAnalysis ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver that computes the ranges of a whole module (RangeAnalysis.cpp),
// those that one argument reaches, and those that the changes of a copy reach
// (ChangedRanges.cpp). The constraints on each value are in RangeValues.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_ANALYSIS_RANGEDRIVER_H
#define MPOPT_LIB_RANGES_ANALYSIS_RANGEDRIVER_H

#include "lib/Ranges/Linear/LinearBounds.h"
#include "lib/Ranges/Samples/Samples.h"
#include "mpopt/Ranges/Analysis/ChangedModule.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Spread/SpreadContext.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Allocator.h"

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace mpopt {

namespace mp {
class ConstantOp;
class DequantizeOp;
} // namespace mp

/// The arguments of `reuseRanges`, as an analysis of the copy: the constructor
/// of RangeAnalysis sees the copy's other analyses only.
struct ReusedRanges {
  explicit ReusedRanges(mlir::Operation *) {}
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) {
    return false;
  }

  const RangeAnalysis *base = nullptr;
  const ChangedModule *change = nullptr;
  Recompute what = Recompute::Reached;
};

class RangeAnalysis::Driver : public SpreadContext {
public:
  explicit Driver(mlir::Operation *module);
  Driver(Driver &base, mlir::BlockArgument argument, AbstractValue value);
  Driver(Driver &base, const ChangedModule &change, Recompute what,
         mlir::Operation *module);

  const AbstractValue &of(mlir::Value value) override;
  const AbstractValue &preRounding(mlir::Value value) override {
    return get(value).pre;
  }
  const Magnitudes &magnitudes(mlir::Value value);
  std::optional<WeightView> weights(mlir::Value value) override;
  std::optional<WeightView> matrixWeights(mlir::Value value,
                                          bool &swapped) override;
  // Elements of shapes do not depend on what inputs hold.
  const ShapeFacts &shapes() override {
    return base && !originals ? base->facts : facts;
  }
  const TargetProfile &target() override { return *profile; }
  GroupLimit groupLimit() const override { return limit; }
  SharedSums sharedSums() override { return shared; }
  void setArgument(mlir::BlockArgument argument, AbstractValue value) override {
    setValue(argument, std::move(value));
  }
  void walk(mlir::Region &region) override;
  /// Gives the memory of many rounded values back: they are made again when
  /// somebody asks. Nobody may hold a reference to one.
  void limitRounded();
  /// Those of the values of the forward part; a constant has the default.
  const Spread &spread(mlir::Value value) override { return get(value).spread; }
  double samples() const override { return sampleCount; }
  size_t mostJoint() const override {
    return trains ? std::min(limit.most, kMostJoint) : limit.joint;
  }
  void give(unsigned index, AbstractValue value, Spread spread) override;
  void giveSpread(unsigned index, Spread spread) override;
  bool computes(mlir::Value value) const { return entries.contains(value); }

  std::vector<mlir::Operation *> varied, unknown;
  std::shared_ptr<const TargetProfile> profile;

protected:
  void setValue(mlir::Value value, AbstractValue pre) override;

private:
  struct Entry {
    AbstractValue pre;
    Spread spread;
    /// The spread comes from a spread function.
    bool knowsSpread = false;
    /// The value as its users read it, while there are any.
    std::unique_ptr<AbstractValue> rounded;
    std::optional<Magnitudes> magnitudes;
  };

  Entry &get(mlir::Value value) {
    if (value != recent.first)
      recent = {value, &find(value)};
    return *recent.second;
  }
  Entry &find(mlir::Value value);
  /// The value of `base` for one that is not computed here; null for others.
  mlir::Value findInBase(mlir::Value value) const;
  Entry &set(mlir::Value value, AbstractValue pre);
  void forget(mlir::Value value);

  void allowRelaxation(mlir::Operation *module);
  void allowRelaxation(double cost, size_t contractions);
  void splitInput(mlir::BlockArgument argument, std::vector<double> influence,
                  size_t boxes);
  void splitInputs();
  static std::vector<mlir::Operation *>
  findReached(mlir::BlockArgument argument);
  void visit(mlir::Operation *op);
  void inferElements(mlir::Operation *op);
  bool losesTrack(mlir::Operation *op);
  void correlate(mlir::Operation *op);
  void useSamples(mlir::Operation *op);
  void propagate(mlir::Block &body, const ChangedModule &change);
  bool isAsBefore(mlir::Value result);
  void visitFunction(mlir::FunctionOpInterface function);
  void visitArgument(mlir::FunctionOpInterface function,
                     mlir::BlockArgument argument);
  std::optional<WeightView> findWeights(mlir::Value value, bool *swapped);
  std::optional<WeightView> widenedWeights(mp::ConstantOp constant,
                                           WeightView view);
  struct ScaledConstant {
    mlir::Value elements, scale, zeroPoint;
  };
  std::optional<WeightView> scaledWeights(char kind, ScaledConstant of,
                                          const StorageFormat &format,
                                          WeightView view,
                                          const MaybeShape &shape,
                                          decltype(dequantize) make);
  std::optional<WeightView> dequantizedWeights(mp::DequantizeOp op,
                                               WeightView view,
                                               const MaybeShape &shape);
  template <typename Op>
  std::optional<WeightView> quantizedWeights(Op op, WeightView view,
                                             const MaybeShape &shape);
  /// Holds a value to what its dtype, shape, elements and relations allow.
  void constrain(mlir::Value value, AbstractValue &pre);
  static AbstractValue round(mlir::Value value, const AbstractValue &pre);
  static bool isStep(mlir::Value value);
  void keepRounded(Entry &entry, AbstractValue stored);
  /// A value that no walk computes.
  AbstractValue compute(mlir::Value value);
  AbstractValue summarize(mp::ConstantOp constant);
  AbstractValue summarizeOnce(const WeightView &view);

  /// Where a variation finds what it does not compute itself.
  Driver *base = nullptr;
  /// For a changed copy: the values of `base` by those of the copy.
  const llvm::DenseMap<mlir::Value, mlir::Value> *originals = nullptr;
  // Entries do not move: transfer functions hold references to several. Those
  // of values that are read together lie together.
  llvm::SpecificBumpPtrAllocator<Entry> storage;
  llvm::SmallVector<Entry *> unused;
  /// Those that have a rounded value.
  std::vector<Entry *> rounded;
  llvm::DenseMap<mlir::Value, Entry *> entries;
  /// The last that was asked for: several questions about a value follow each
  /// other.
  std::pair<mlir::Value, Entry *> recent;
  ShapeFacts facts;
  GroupLimit limit = 0;
  double sampleCount = 1;
  /// The module has the gradients of a loss.
  bool trains = false;
  SharedSums shared;
  linear::LinearBounds relaxation{*this};
  samples::Samples sampled{*this};
  /// The first allowance of `relaxation`, and the contractions that may ask.
  double allowance = 0;
  size_t contractions = 0;
  /// Bounds are those of the parts of an input's box.
  bool isSplit = false;
  /// The format to which the module narrows constants, or null.
  const FloatFormat *lowFormat = nullptr;
  /// The same as `unknown`: bodies of loops are walked several times.
  llvm::DenseSet<mlir::Operation *> counted;
};

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_ANALYSIS_RANGEDRIVER_H
