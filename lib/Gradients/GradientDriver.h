//===- GradientDriver.h - The walk behind a GradientAnalysis ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_GRADIENTS_GRADIENTDRIVER_H
#define MPOPT_LIB_GRADIENTS_GRADIENTDRIVER_H

#include "Storage.h"

#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/ForwardingContext.h"

#include <memory>
#include <unordered_map>

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace mpopt {

class GradientAnalysis::Driver
    : public ForwardingContext<BackwardSpreadContext> {
public:
  Driver(mlir::Operation *module, const RangeAnalysis &ranges);

  // The members of a TransferContext.
  const AbstractValue &of(mlir::Value value) override;
  const AbstractValue &preRounding(mlir::Value value) override;
  /// Positions and channels together say more of gradients than of ranges: what
  /// arrives at a few positions only has their statistics.
  GroupLimit groupLimit() const override {
    size_t most = std::min(kMoreGroups * base.groupLimit().most, kMostGroups);
    return {most, projects ? base.groupLimit().joint : kMostJoint};
  }
  bool needsBounds() const override { return false; }
  void setArgument(mlir::BlockArgument argument, AbstractValue value) override {
    setValue(argument, std::move(value));
  }
  void walk(mlir::Region &region) override;

  // The members of a BackwardSpreadContext.
  bool isGradient(mlir::Value value) const override {
    return gradients.count(value);
  }
  bool computesGradient() const override { return inGradient; }
  bool readsAll() const override { return !projects; }
  const Spread &spread(mlir::Value value) override;
  const Hits *hits(mlir::Value value) const override;
  const Losses &losses(mlir::Value value) override;
  double samples() const override { return sampleCount; }
  std::optional<double> lossValue() const override { return currentLoss; }
  double stepsDone() const override { return steps; }
  void give(unsigned index, AbstractValue value, Spread spread) override;
  void giveSpread(unsigned index, Spread spread) override;
  void giveHits(unsigned index, Hits hits) override;
  void giveLosses(unsigned index, Losses losses) override;
  Losses combineLosses() override;

  /// The largest magnitude that is expected of a gradient's elements.
  double absMax(mlir::Value gradient);
  /// The sizes of all elements that are not 0.
  SizeMixture allSizes(mlir::Value gradient);

protected:
  void setValue(mlir::Value value, AbstractValue pre) override;

private:
  /// Classes and rows of tables are told apart, as batches hit some of them.
  static constexpr size_t kMoreGroups = 16, kMostGroups = 1 << 16;

  struct Gradient {
    AbstractValue value;
    /// Null if all elements are alike.
    std::unique_ptr<Hits> hits;
    /// Two arrays over all loss scales; null for projections.
    std::unique_ptr<Losses> losses;
    bool knowsValue = false;
    /// Reads of a projection's gradient that the walk has not come to.
    size_t reads = 0;
  };

  AbstractValue settle(mlir::Value of, AbstractValue value);
  void visitFunction(mlir::FunctionOpInterface function);
  void visit(mlir::Operation *op);
  void project(mlir::Operation *op);
  void finish(mlir::OpResult result);
  void carryHits(mlir::OpResult result);
  /// Has the gradients of a projection that no later op reads keep their
  /// moments alone.
  void release(mlir::Operation *last);
  /// The sizes of the elements that are hit, or of the others.
  SizeMixture sizes(const Gradient &gradient, double zero, bool hit) const;

  struct Hash {
    size_t operator()(mlir::Value value) const { return hash_value(value); }
  };

  const RangeAnalysis &ranges;
  double sampleCount = 1;
  std::optional<double> currentLoss;
  double steps = 0;
  bool inGradient = false;
  /// Gradients are those of projections of outputs, which no format stores and
  /// of which many are asked for: positions and channels count for less.
  bool projects = false;
  // References to values outlive the next entry.
  /// Those of the ops of the backward part.
  std::unordered_map<mlir::Value, Spread, Hash> spreads;
  std::unordered_map<mlir::Value, Gradient, Hash> gradients;
};

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_GRADIENTDRIVER_H
