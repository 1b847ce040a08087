//===- ProductEffects.cpp - What scaling operands does
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/ProductEffects.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Propagate/AddedTerms.h"
#include "mpopt/Propagate/InnerSums.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/OperandErrors.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mpopt;

std::vector<Operation *> mpopt::findScaledProducts(ModuleOp module) {
  std::vector<Operation *> products;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumOperands() >= 2 && getScaledOperand(op->getOperand(0)) &&
        getScaledOperand(op->getOperand(1)))
      products.push_back(op);
  });
  return products;
}

static bool isOfFloats(ModuleOp module) {
  return getPrecision(module).operands->weights.codes().floats;
}

static double errorOfOutput(const OutputEffect &output, bool ofFloats) {
  return output.nonFinite
             ? kInfinity
             : (ofFloats ? output.rms : output.error).value_or(NAN);
}

double mpopt::worstError(ModuleOp module, const OutputEffects &effects) {
  double worst = 0;
  for (const OutputEffect &output : effects.outputs) {
    double error = errorOfOutput(output, isOfFloats(module));
    if (std::isnan(error))
      return NAN;
    worst = std::max(worst, error);
  }
  return worst;
}

//===----------------------------------------------------------------------===//
// Signal and noise
//===----------------------------------------------------------------------===//

double mpopt::signalOf(Operation *op, const ProductOperands &product,
                       const RangeAnalysis &ranges) {
  const AbstractValue &result = ranges.preRounding(op->getResult(0));
  if (!result.hasLikely() || product.alpha == 0)
    return NAN;
  AbstractValue bias = AbstractValue(AbstractValue::Dims(), Cell{});
  if (product.bias)
    bias = ranges.of(product.bias);
  size_t rank = result.rank();
  // The bias of a convolution is along its channels.
  if (bias.rank() == 1 && isa<mp::ConvOp, mp::ConvTransposeOp>(op) &&
      rank > 1) {
    AbstractValue::Dims dims(rank, 1);
    dims[1] = bias.dims()[0];
    bias = bias.withDims(dims);
  }
  SmallVector<AbstractValue, 2> values = {result, bias.withRank(rank)};
  AbstractValue::Dims dims =
      broadcastGroups(values, GroupLimit(1 << 14, 1 << 14));
  double square = 0, count = 0;
  forEachGroup(dims, values, [&](size_t, ArrayRef<size_t> at) {
    Cell cell = values[0].cell(at[0]), added = values[1].cell(at[1]);
    double mean = cell.mean - product.beta * added.mean;
    // A bias of which the result's groups are not told apart is in its
    // variance.
    double variance =
        cell.variance - product.beta * product.beta * added.variance;
    square += mean * mean + std::max(variance, cell.variance / 16);
    ++count;
  });
  return square / count / (product.alpha * product.alpha);
}

double mpopt::shareOfTaps(Operation *op) {
  auto conv = dyn_cast<mp::ConvOp>(op);
  MaybeShape input = conv ? getShape(conv.getInput()) : std::nullopt,
             filter = conv ? getShape(conv.getFilter()) : std::nullopt;
  if (!input || !filter || input->size() != filter->size())
    return 1;
  Window window =
      Window::get(ArrayRef(*filter).drop_front(2), conv.getStrides(),
                  conv.getDilations(), conv.getPads(), conv.getAutoPad());
  double share = 1;
  for (unsigned axis = 0; axis < window.dims.size(); ++axis) {
    int64_t size = (*input)[axis + 2];
    const WindowDim &dim = window.dims[axis];
    auto pads = window.pads(axis, size);
    auto count = window.outputDim(axis, size);
    if (size <= 0 || dim.kernel <= 0 || !pads || !count || *count <= 0)
      continue;
    double inside = 0;
    for (int64_t at = 0; at < *count; ++at)
      for (int64_t tap = 0; tap < dim.kernel; ++tap) {
        int64_t index = at * dim.stride + tap * dim.dilation - pads->first;
        inside += index >= 0 && index < size;
      }
    share *= inside / double(*count * dim.kernel);
  }
  return share;
}

double mpopt::noiseOf(double terms, const OperandError &lhs,
                      const OperandError &rhs) {
  size_t count = std::max(lhs.along.size(), rhs.along.size());
  auto meanOf = [](const OperandError &operand) {
    NumberAndError mean;
    for (const NumberAndError &each : operand.along) {
      mean.square += each.square / double(operand.along.size());
      mean.error += each.error / double(operand.along.size());
    }
    return mean;
  };
  bool fits = (lhs.along.size() == count || lhs.along.size() == 1) &&
              (rhs.along.size() == count || rhs.along.size() == 1);
  auto at = [&](const OperandError &operand, size_t index) {
    return operand.along.size() == 1 ? operand.along.front()
           : fits                    ? operand.along[index]
                                     : meanOf(operand);
  };
  double square = 0;
  for (size_t index = 0; index < count; ++index) {
    NumberAndError a = at(lhs, index), b = at(rhs, index);
    square += a.error * b.square + a.square * b.error + a.error * b.error;
  }
  return terms * square / double(count);
}

//===----------------------------------------------------------------------===//
// Effects on outputs
//===----------------------------------------------------------------------===//

namespace {
/// The squares that each product adds to the error of each output.
class ProductSquares {
public:
  ProductSquares(ArrayRef<Operation *> products, const OutputEffects &effects,
                 bool ofFloats);

  /// 0 if it is less than a rounding of the output, from which no run tells it.
  double errorBy(size_t product) const;
  /// Products without which every output's error is at most `aim`; nothing if
  /// an error is not known. As squares add up, the largest go first.
  /// The rest is to meet the aim in a run, too: `uncertain` is the factor
  /// by which estimates are off at times.
  std::optional<std::vector<size_t>> findKept(double aim,
                                              double uncertain) const;

private:
  /// By output, then by product.
  std::vector<std::vector<double>> squares;
  /// By output, the unit roundoff of its type.
  std::vector<double> roundings;
  bool known = true;
};
} // namespace

ProductSquares::ProductSquares(ArrayRef<Operation *> products,
                               const OutputEffects &effects, bool ofFloats) {
  for (const OutputEffect &output : effects.outputs) {
    double error = errorOfOutput(output, ofFloats);
    // Squares add up before an error is limited.
    if (output.rms && *output.rms > 0)
      error *= withoutLimit(*output.rms) / *output.rms;
    if (!std::isfinite(error)) {
      known = false;
      continue;
    }
    double all = 0;
    for (const auto &[value, square] : output.squares)
      all += square;
    const FloatFormat *format = getFloatFormat(getElementType(output.value));
    roundings.push_back(format ? format->unitRoundoff() : 0);
    std::vector<double> &list = squares.emplace_back();
    for (Operation *op : products) {
      double square = output.squares.lookup(op->getOperand(0)) +
                      output.squares.lookup(op->getOperand(1));
      list.push_back(all > 0 ? square / all * error * error : 0);
    }
  }
}

double ProductSquares::errorBy(size_t product) const {
  double most = known ? 0 : NAN;
  for (auto [list, rounding] : llvm::zip_equal(squares, roundings))
    if (double error = std::sqrt(list[product]); !(error < rounding))
      most = std::fmax(most, error);
  return most;
}

std::optional<std::vector<size_t>>
mpopt::findKept(std::vector<double> sums, size_t items, double most,
                llvm::function_ref<double(size_t item, size_t sum)> square) {
  std::vector<size_t> kept;
  while (llvm::any_of(sums, [&](double sum) { return sum > most; })) {
    // The excess counts, and no more: the rest of a sum does not count.
    size_t best = 0;
    double gain = 0;
    for (size_t item = 0; item < items; ++item) {
      if (llvm::is_contained(kept, item))
        continue;
      double its = 0;
      for (auto [index, sum] : llvm::enumerate(sums))
        if (sum > most)
          its += std::min(square(item, index), sum - most) / most;
      if (its > gain) {
        gain = its;
        best = item;
      }
    }
    if (gain == 0)
      return std::nullopt;
    kept.push_back(best);
    for (auto [index, sum] : llvm::enumerate(sums))
      sum -= square(best, index);
  }
  return kept;
}

std::optional<std::vector<size_t>>
ProductSquares::findKept(double aim, double uncertain) const {
  if (!known)
    return std::nullopt;
  aim /= uncertain;
  std::vector<double> sums;
  for (const std::vector<double> &list : squares)
    sums.push_back(std::accumulate(list.begin(), list.end(), 0.0));
  size_t products = squares.empty() ? 0 : squares.front().size();
  return mpopt::findKept(
      std::move(sums), products, aim * aim,
      [&](size_t product, size_t output) { return squares[output][product]; });
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static ProductReport::Operand describe(const ScaledOperand &operand,
                                       const OperandError &error,
                                       FlushedShares &shares) {
  ProductReport::Operand report;
  report.tensor = getTensorName(operand.input);
  report.isConstant = operand.isWeight;
  report.clipped = error.clipped;
  report.flushed = error.flushAt.empty() || !operand.scaling.codes().floats
                       ? error.flushed
                       : shares.below(operand.input, error.flushAt);
  return report;
}

ScalingReport mpopt::describeProducts(ModuleOp module, AnalysisManager analyses,
                                      const OutputEffects &effects,
                                      double aim) {
  const auto &ranges = analyses.getAnalysis<RangeAnalysis>();
  auto &shares = analyses.getAnalysis<FlushedShares>();
  const Precision &precision = getPrecision(module);
  ScalingReport report;
  report.ofFloats = isOfFloats(module);
  report.recipe = precision.recipe().empty() ? precision.name.str()
                                             : precision.recipe().str();
  report.aim = aim;
  std::vector<Operation *> products = findScaledProducts(module);
  ProductSquares rms(products, effects, /*ofFloats=*/true),
      largest(products, effects, /*ofFloats=*/false);
  for (auto [index, op] : llvm::enumerate(products)) {
    ProductReport &product = report.products.emplace_back();
    product.op = getOpRef(op);
    product.output = getTensorPath(op->getResult(0));
    product.rms = rms.errorBy(index);
    product.error = largest.errorBy(index);
    std::array<OperandError, 2> errors;
    for (unsigned side : {0u, 1u}) {
      ScaledOperand operand = *getScaledOperand(op->getOperand(side));
      errors[side] = mpopt::errorOf(operand, ranges);
      product.operands[side] = describe(operand, errors[side], shares);
    }
    if (!errors[0].error.hasLikely() || !errors[1].error.hasLikely())
      continue;
    double signal = signalOf(op, *getProductOperands(op), ranges),
           noise =
               noiseOf(double(countProducts(op).value_or(0)) * shareOfTaps(op),
                       errors[0], errors[1]);
    if (std::optional<InnerSum> sum = findInnerSum(op, ranges))
      noise += signal * sum->ofResult.square;
    if (signal > 0 && noise > 0)
      product.decibels = 10 * std::log10(signal / noise);
  }
  // As kUncertainRms. Three of four largest errors are known within a factor 2:
  // of two sets of 12 networks 11 lists each are long enough with it, and 8
  // with 1.5.
  constexpr double kOfLargest = 2;
  report.keep = report.ofFloats ? rms.findKept(aim, kUncertainRms)
                                : largest.findKept(aim, kOfLargest);
  return report;
}
