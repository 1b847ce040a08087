//===- CompareConstants.cpp - Codes beside a float model's numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constant's twin has its name, less what quantisers add, or is the constant
// of its size that the twin of the reading op reads. Quantisers may multiply
// the channels of a weight and divide those of its neighbour (SmoothQuant,
// cross-layer equalisation, batch norms that are folded): numbers by channel
// are compared up to a factor where the result of the reading op is expected
// to be as large as in the float model. Not covered: ops that a quantiser
// renames and whose constants it renames, too.
//
//===----------------------------------------------------------------------===//

#include "CompareConstants.h"

#include "CodedConstants.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FactorSums.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;

namespace {
/// Codes beside the float model's numbers.
struct Difference {
  Operation *op = nullptr;
  Value twin;
  FactorSums sums;
  /// The op that reads the numbers, its result or one that only it is used for,
  /// and what the float model has in place of that.
  Operation *reader = nullptr;
  Value result, resultTwin;
  int64_t elements = 0;
  /// The factor of each index of the axis that leaves least, and the sum of
  /// squares that is left.
  std::vector<double> factors;
  double squareByChannel = kInfinity;
  bool isRescaled = false;
  /// The float model's numbers and these, where the constant is a vector.
  std::vector<double> meant;
  std::vector<float> stored;

  /// True if factors leave less than they take from each channel's rounding.
  bool isByChannel() const { return 4 * squareByChannel < sums.difference(); }
};

class ConstantComparison {
public:
  ConstantComparison(const RangeAnalysis &own,
                     const llvm::StringMap<Value> &floats,
                     const RangeAnalysis &ranges)
      : own(own), floats(floats), ranges(ranges) {}

  void add(Operation *op);
  void findRescaled();
  void note() const;

private:
  Value findNamed(StringRef name) const;
  void findReader(const CodedConstant &constant, Difference &into) const;
  bool areAlike(const Difference &difference) const;
  bool isTakenBackBy(const Difference &before, const Difference &behind) const;

  std::vector<Difference> differences;
  const RangeAnalysis &own;
  const llvm::StringMap<Value> &floats;
  const RangeAnalysis &ranges;
};
} // namespace

Value ConstantComparison::findNamed(StringRef name) const {
  if (Value found = floats.lookup(name))
    return found;
  for (StringRef ending :
       {"_quantized", "_DequantizeLinear_Output", "_QuantizeLinear_Output",
        ".codes", ".dq", "_q", "_dq", "_Q4", "_Q8"})
    if (name.ends_with(ending))
      if (Value found = floats.lookup(name.drop_back(ending.size())))
        return found;
  return {};
}

/// The only constant of that shape that the op reads.
static Value findConstant(Operation *op, ArrayRef<int64_t> shape) {
  Value found;
  for (Value operand : op->getOperands()) {
    MaybeShape dims = getShape(operand);
    if (!isConstant(operand) || !dims || ArrayRef(*dims) != shape)
      continue;
    if (found)
      return {};
    found = operand;
  }
  return found;
}

void ConstantComparison::findReader(const CodedConstant &constant,
                                    Difference &into) const {
  bool isProduct = constant.result.getDefiningOp() != constant.op ||
                   isa<mp::MatMulNBitsOp>(constant.op);
  if (!isProduct && !constant.result.hasOneUse())
    return;
  into.reader = isProduct ? constant.result.getDefiningOp()
                          : *constant.result.getUsers().begin();
  // Codes, their cast and the product with scales, or the pair behind a sum.
  constexpr unsigned kMostSteps = 4;
  Operation *op = into.reader;
  for (unsigned step = 0; step < kMostSteps; ++step) {
    if (op->getNumResults() != 1)
      return;
    into.result = op->getResult(0);
    into.resultTwin = findNamed(getTensorName(into.result));
    if (into.resultTwin || !into.result.hasOneUse())
      return;
    op = *into.result.getUsers().begin();
  }
}

/// True if the reading op's result is expected to be as large as in the float
/// model.
bool ConstantComparison::areAlike(const Difference &difference) const {
  if (!difference.resultTwin)
    return false;
  const AbstractValue &here = own.of(difference.result),
                      &there = ranges.of(difference.resultTwin);
  if (!here.hasLikely() || !there.hasLikely())
    return false;
  auto areWithin = [](double most, double square, double other) {
    return square <= most * other && other <= most * square;
  };
  if (!areWithin(FactorSums::kMostFactor * FactorSums::kMostFactor,
                 meanSquare(here), meanSquare(there)))
    return false;
  // One channel is estimated less well: covariances are those of its weights.
  constexpr double kMostOfChannel = 2;
  return here.dims() != there.dims() ||
         llvm::all_of(llvm::zip_equal(here.cells(), there.cells()),
                      [&](const auto &pair) {
                        return areWithin(kMostOfChannel,
                                         meanSquare(std::get<0>(pair)),
                                         meanSquare(std::get<1>(pair)));
                      });
}

/// Compares up to a factor of each index of one axis.
static void compareByChannel(const CodedConstant &constant,
                             ArrayRef<double> meant, Difference &into) {
  int64_t inner = int64_t(meant.size());
  for (int64_t dim : constant.shape) {
    inner /= dim;
    std::vector<FactorSums> channels(dim);
    for (auto [at, number] : llvm::enumerate(meant))
      channels[int64_t(at) / inner % dim].add(number, constant.numbers[at]);
    double square = 0;
    std::vector<double> factors;
    for (const FactorSums &sums : channels) {
      square += sums.isKnown() ? sums.differenceAtBest() : sums.difference();
      factors.push_back(sums.isKnown() ? sums.factor() : 1);
    }
    if (square < into.squareByChannel) {
      into.squareByChannel = square;
      into.factors = std::move(factors);
    }
  }
}

void ConstantComparison::add(Operation *op) {
  std::optional<CodedConstant> constant = readCodedConstant(op, own);
  if (!constant)
    return;
  Difference difference;
  difference.op = constant->op;
  findReader(*constant, difference);
  Value twin;
  for (Value value : {constant->codes, constant->result})
    if (Value found = findNamed(getTensorName(value));
        !twin && found && isConstant(found))
      twin = found;
  if (!twin && difference.resultTwin && difference.resultTwin.getDefiningOp())
    twin = findConstant(difference.resultTwin.getDefiningOp(), constant->shape);
  std::optional<WeightView> exact;
  if (twin)
    exact = ranges.context().weights(twin);
  if (!exact || exact->splat || exact->shape != constant->shape ||
      exact->size() != int64_t(constant->numbers.size()))
    return;
  std::vector<double> meant = readAll(*exact);
  for (auto [number, stored] : llvm::zip_equal(meant, constant->numbers))
    difference.sums.add(number, stored);
  difference.twin = twin;
  difference.elements = int64_t(meant.size());
  if (constant->shape.size() == 1) {
    difference.meant = std::move(meant);
    difference.stored = std::move(constant->numbers);
  } else {
    compareByChannel(*constant, meant, difference);
  }
  differences.push_back(std::move(difference));
}

/// True if the layer behind divides by what the one before multiplies with.
bool ConstantComparison::isTakenBackBy(const Difference &before,
                                       const Difference &behind) const {
  if (before.factors.size() != behind.factors.size())
    return false;
  auto isInverse = [](const auto &pair) {
    double product = std::get<0>(pair) * std::get<1>(pair);
    return product <= FactorSums::kMostFactor &&
           FactorSums::kMostFactor * product >= 1;
  };
  // Channels of a few steps do not tell their factor.
  constexpr double kLeastShare = 0.9;
  if (double(llvm::count_if(llvm::zip_equal(before.factors, behind.factors),
                            isInverse)) <
      kLeastShare * double(before.factors.size()))
    return false;
  // Pairs, rectifiers, pools and views on the way.
  constexpr unsigned kMostSteps = 8;
  Operation *op = behind.reader;
  for (unsigned step = 0; op && step < kMostSteps; ++step) {
    if (op == before.reader)
      return true;
    op = op->getNumOperands() > 0 ? op->getOperand(0).getDefiningOp() : nullptr;
  }
  return false;
}

/// A bias has the factors of its layer's weight.
static void rescaleBias(Difference &bias, const Difference &weight) {
  if (bias.meant.size() != weight.factors.size())
    return;
  FactorSums sums;
  for (auto [number, stored, factor] :
       llvm::zip_equal(bias.meant, bias.stored, weight.factors))
    sums.add(number / factor, stored);
  if (!sums.isKnown() || sums.areOthers() || sums.isOff())
    return;
  bias.isRescaled = true;
  bias.squareByChannel = sums.difference();
}

void ConstantComparison::findRescaled() {
  for (Difference &difference : differences)
    difference.isRescaled = difference.isByChannel() && areAlike(difference);
  // From the last layer to the first one, since each is before another.
  for (Difference &before : llvm::reverse(differences)) {
    auto takesBack = [&](const Difference &behind) {
      return behind.isRescaled && isTakenBackBy(before, behind);
    };
    before.isRescaled |= before.isByChannel() && before.reader &&
                         llvm::any_of(differences, takesBack);
  }
  for (const Difference &weight : differences)
    if (weight.isRescaled && !weight.factors.empty())
      for (Difference &other : differences)
        if (other.reader == weight.reader)
          rescaleBias(other, weight);
}

void ConstantComparison::note() const {
  for (const Difference &difference : differences) {
    const FactorSums &sums = difference.sums;
    Builder builder(difference.op);
    double square =
        difference.isRescaled ? difference.squareByChannel : sums.difference();
    difference.op->setAttr(
        kWeightErrorAttr,
        builder.getF64FloatAttr(square / double(difference.elements)));
    if (difference.isRescaled || !sums.isKnown() ||
        !(sums.areOthers() || sums.isOff()))
      continue;
    auto number = [&](StringRef name, double value) {
      return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
    };
    difference.op->setAttr(
        kForeignConstantAttr,
        builder.getDictionaryAttr(
            {builder.getNamedAttr(
                 "name", builder.getStringAttr(getTensorName(difference.twin))),
             number("factor", sums.factor()), number("rest", sums.rest())}));
  }
}

void mpopt::compareConstants(ModuleOp codes, const RangeAnalysis &own,
                             const llvm::StringMap<Value> &floats,
                             const RangeAnalysis &ranges) {
  ConstantComparison comparison(own, floats, ranges);
  codes.walk([&](Operation *op) { comparison.add(op); });
  comparison.findRescaled();
  comparison.note();
}
