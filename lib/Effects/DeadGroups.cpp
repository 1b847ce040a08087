//===- DeadGroups.cpp - Groups of zeros by rectifiers and borders
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DeadGroups.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Numerics/Unary.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <map>
#include <utility>

using namespace mlir;
using namespace mpopt;

static bool isRectifier(Operation *op) {
  return op && hasRole(op, Role::Rectifier);
}

namespace {
/// The numbers all of which are at most 0 where a value is 0; null if none are
/// known.
struct Rectified {
  Value x;
  /// As many of an image as a pool reads.
  double window = 1;
  /// A gradient goes to one of as many, if any of them is above 0.
  double rivals = 1;
};
} // namespace

/// How many positions of an image a pool reads for one; nothing for other ops.
static std::optional<double> windowOf(Operation *op) {
  if (!isa_and_present<mp::MaxPoolOp, mp::AveragePoolOp,
                       mp::GlobalAveragePoolOp, mp::GlobalMaxPoolOp,
                       mp::ReduceMeanOp, mp::ReduceMaxOp>(op))
    return std::nullopt;
  MaybeShape from = getShape(op->getOperand(0)),
             to = getShape(op->getResult(0));
  auto all = getNumElements(from), left = getNumElements(to);
  if (!all || !left || *left <= 0 || from->size() < 3 || to->size() < 2 ||
      (*from)[0] != (*to)[0] || (*from)[1] != (*to)[1])
    return std::nullopt;
  double window = 1;
  llvm::TypeSwitch<Operation *>(op)
      .Case<mp::MaxPoolOp, mp::AveragePoolOp>([&](auto pool) {
        for (int64_t size : pool.getKernelShape())
          window *= double(size);
      })
      .Default([&](Operation *) { window = double(*all) / double(*left); });
  return window;
}

static Rectified findRectified(Value value) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  while (auto transpose = dyn_cast_if_present<mp::TransposeOp>(op))
    op = getMaker(transpose.getInput(), Peel::CastsAndViews);
  if (!op)
    return {};
  if (isRectifier(op))
    return {op->getOperand(0)};
  if (std::optional<double> window = windowOf(op)) {
    Operation *maker = getMaker(op->getOperand(0), Peel::CastsAndViews);
    return isRectifier(maker) ? Rectified{maker->getOperand(0), *window}
                              : Rectified();
  }
  std::optional<Unary> passed = getFunctionOfGradient(op);
  if (!passed || passed->function != UnaryFunction::Relu)
    return {};
  // The gradient reads the rectifier's argument or its result.
  Rectified result = {op->getOperands().back()};
  Operation *maker = getMaker(result.x, Peel::InsertedCasts);
  if (isRectifier(maker))
    result.x = maker->getOperand(0);
  if (auto pool = op->getOperand(0).getDefiningOp<mp::MaxPoolGradOp>())
    for (int64_t size : pool.getKernelShape())
      result.rivals *= double(size);
  return result;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Standard normal numbers at the middles of parts of equal probability.
static ArrayRef<double> normalMiddles() {
  // A hundredth of what the integral of a distribution function comes to.
  constexpr unsigned kParts = 32;
  static const std::vector<double> kMiddles = [] {
    std::vector<double> middles;
    for (unsigned part = 0; part < kParts; ++part)
      middles.push_back(normalQuantile((part + 0.5) / kParts));
    return middles;
  }();
  return kMiddles;
}

namespace {
/// Samples have the steady part of the variance in common, positions of one
/// sample what is alike in them; the rest is each element's own.
class Channels {
public:
  Channels(const AbstractValue &numbers, const Spread &spread, double window)
      : numbers(numbers), window(window),
        steady(std::clamp(spread.steady, 0.0, 1.0)),
        alike(std::clamp(spread.alike - steady, 0.0, 1 - steady)) {}

  /// The share of channels all of whose numbers are at most 0.
  double shareOfDead(double positions, double samples) const {
    double share = 0;
    for (const Cell &cell : numbers.cells())
      share +=
          ofCell(cell, positions * window, samples) / double(numbers.groups());
    return share;
  }
  double ofCell(const Cell &cell, double positions, double samples) const;

private:
  const AbstractValue &numbers;
  double window, steady, alike;
};
} // namespace

double Channels::ofCell(const Cell &cell, double positions,
                        double samples) const {
  // A single position has nothing in common with others.
  double alike = positions > 1 ? this->alike : 0,
         deviation = std::sqrt(cell.variance),
         own = std::sqrt(std::max(1 - steady - alike, 0.0)) * deviation;
  constexpr double kNone = 0; // the mean, where nothing is in common
  auto drawsOf = [&](double part) {
    return part > 0 ? normalMiddles() : ArrayRef(kNone);
  };
  ArrayRef<double> ofAll = drawsOf(steady), ofSample = drawsOf(alike);
  double share = 0;
  for (double far : ofAll) {
    double sample = 0;
    for (double offset : ofSample) {
      double at = cell.mean + deviation * (std::sqrt(steady) * far +
                                           std::sqrt(alike) * offset);
      double below = own > 0 ? normalShareBelow(-at / own) : at <= 0;
      sample += std::pow(below, positions) / double(ofSample.size());
    }
    share += std::pow(sample, samples) / double(ofAll.size());
  }
  return share;
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

namespace {
/// A filter's taps over one image, of which those beside it read zeros.
struct Taps {
  /// By axis, then output position: a bit for each tap inside.
  std::array<std::vector<uint32_t>, 2> inside = {std::vector<uint32_t>{1},
                                                 std::vector<uint32_t>{1}};
  std::array<int64_t, 2> count = {1, 1};

  int64_t taps() const { return count[0] * count[1]; }
  bool isInside(uint32_t rows, uint32_t columns, int64_t tap) const {
    return (rows >> (tap / count[1]) & 1) && (columns >> (tap % count[1]) & 1);
  }
};
} // namespace

static ArrayRef<int64_t> listOf(std::optional<ArrayRef<int64_t>> attribute) {
  return attribute.value_or(ArrayRef<int64_t>());
}

/// Nothing for images of other than one or two axes, and open sizes.
template <typename OpTy> static std::optional<Taps> tapsOf(OpTy conv) {
  MaybeShape input = getShape(conv.getInput()),
             filter = getShape(conv.getFilter());
  if (!input || !filter || input->size() != filter->size() ||
      input->size() < 3 || input->size() > 4)
    return std::nullopt;
  Window window = Window::get(
      ArrayRef(*filter).drop_front(2), listOf(conv.getStrides()),
      listOf(conv.getDilations()), listOf(conv.getPads()), conv.getAutoPad());
  Taps taps;
  for (unsigned axis = 0; axis < window.dims.size(); ++axis) {
    int64_t size = (*input)[axis + 2];
    const WindowDim &dim = window.dims[axis];
    auto pads = window.pads(axis, size);
    auto count = window.outputDim(axis, size);
    if (size <= 0 || dim.kernel <= 0 || dim.kernel > 32 || !pads || !count)
      return std::nullopt;
    taps.count[axis] = dim.kernel;
    taps.inside[axis].assign(size_t(std::max<int64_t>(*count, 0)), 0);
    for (int64_t at = 0; at < *count; ++at)
      for (int64_t tap = 0; tap < dim.kernel; ++tap) {
        int64_t index = at * dim.stride + tap * dim.dilation - pads->first;
        if (index >= 0 && index < size)
          taps.inside[axis][at] |= uint32_t(1) << tap;
      }
  }
  return taps;
}

/// The share of blocks of zeros along a row of the unfolded image, which lists
/// channels and the taps of each.
static double shareOfRows(const Taps &taps, int64_t channels, int64_t size,
                          llvm::function_ref<double(int64_t)> dead) {
  std::map<std::pair<uint32_t, uint32_t>, double> known;
  double sum = 0;
  for (uint32_t rows : taps.inside[0])
    for (uint32_t columns : taps.inside[1]) {
      auto [entry, isNew] = known.try_emplace({rows, columns}, 0);
      int64_t all = channels * taps.taps(), blocks = (all + size - 1) / size;
      for (int64_t from = 0; isNew && from < all; from += size) {
        double share = 1;
        int64_t read = 0, end = std::min(from + size, all);
        for (int64_t at = from; at < end; ++at) {
          read += taps.isInside(rows, columns, at % taps.taps());
          if ((at + 1) % taps.taps() == 0 || at + 1 == end)
            share *= dead(std::exchange(read, 0));
        }
        entry->second += share / double(blocks);
      }
      sum += entry->second;
    }
  return sum / double(taps.inside[0].size() * taps.inside[1].size());
}

/// The share of blocks of zeros along the positions that one tap reads.
static double shareOfPositions(const Taps &taps, int64_t images, int64_t size,
                               llvm::function_ref<double(int64_t)> dead) {
  // Blocks begin anew after as many images.
  images = std::min(images, size);
  double sum = 0, blocks = 0;
  for (int64_t tap = 0; tap < taps.taps(); ++tap) {
    int64_t read = 0, at = 0;
    for (int64_t image = 0; image < images; ++image)
      for (uint32_t rows : taps.inside[0])
        for (uint32_t columns : taps.inside[1]) {
          read += taps.isInside(rows, columns, tap);
          if (++at % size == 0) {
            sum += dead(std::exchange(read, 0));
            ++blocks;
          }
        }
  }
  return blocks > 0 ? sum / blocks : 0;
}

/// The share in the image that a convolution reads; nothing for other operands.
static std::optional<double> shareOfImage(const ScaledOperand &operand,
                                          bool alongPositions,
                                          const Channels *channels) {
  Value image;
  std::optional<Taps> taps;
  llvm::TypeSwitch<Operation *>(operand.product)
      .Case<mp::ConvOp, mp::ConvGradOp>([&](auto conv) {
        image = conv.getInput();
        taps = tapsOf(conv);
      });
  MaybeShape shape = image ? getShape(image) : std::nullopt;
  if (!taps || operand.input != image || !shape || (*shape)[0] <= 0 ||
      (*shape)[1] <= 0)
    return std::nullopt;
  llvm::DenseMap<int64_t, double> known;
  auto dead = [&](int64_t read) {
    auto [entry, isNew] = known.try_emplace(read, read == 0);
    if (isNew && read > 0 && channels)
      entry->second = channels->shareOfDead(double(read), 1);
    return entry->second;
  };
  int64_t size = operand.scaling.size;
  return alongPositions ? shareOfPositions(*taps, (*shape)[0], size, dead)
                        : shareOfRows(*taps, (*shape)[1], size, dead);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The share of groups along channels of which all are 0, each for itself.
static double shareOfDeadRows(const ScaledOperand &operand,
                              const Rectified &rectified,
                              const Channels &channelsOf,
                              const RangeAnalysis &ranges) {
  std::optional<size_t> axis = operand.layout.firstContracted();
  MaybeShape shape = getShape(operand.input);
  if (!axis || getShape(rectified.x) != shape || (*shape)[*axis] <= 0 ||
      operand.layout.taps != 1)
    return 0;
  int64_t channels = (*shape)[*axis],
          size = operand.scaling.grain == OperandScaling::Grain::Block
                     ? std::min(operand.scaling.size, channels)
                     : channels;
  AbstractValue numbers =
      ranges.preRounding(rectified.x).keeping({int64_t(*axis)});
  double perGroup = double(channels) / double(numbers.groups()), sum = 0;
  for (int64_t from = 0; from < channels; from += size) {
    double share = 1;
    for (int64_t at = from; at < std::min(from + size, channels); ++at) {
      Cell cell = numbers.cell(size_t(double(at) / perGroup));
      double dead = channelsOf.ofCell(cell, rectified.rivals, 1);
      share *= 1 - (1 - dead) / rectified.rivals;
    }
    sum += share;
  }
  int64_t blocks = (channels + size - 1) / size;
  return sum / double(blocks);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

double mpopt::shareOfDeadGroups(const ScaledOperand &operand,
                                bool alongPositions,
                                const GradientAnalysis &gradients,
                                const RangeAnalysis &ranges) {
  MaybeShape shape = getShape(operand.input);
  if (!shape)
    return 0;
  Rectified rectified = findRectified(operand.input);
  Value x = rectified.x;
  std::optional<Channels> channels;
  if (x && ranges.preRounding(x).hasLikely())
    channels.emplace(ranges.preRounding(x), gradients.spread(x),
                     rectified.window);
  const OperandScaling &scaling = operand.scaling;
  bool isBlock = scaling.grain == OperandScaling::Grain::Block;
  if (isBlock)
    if (auto share = shareOfImage(operand, alongPositions,
                                  channels ? &*channels : nullptr))
      return *share;
  if (!channels)
    return 0;
  if (!alongPositions)
    return shareOfDeadRows(operand, rectified, *channels, ranges);
  SmallVector<int64_t> summed;
  for (auto [axis, part] : llvm::enumerate(operand.layout.axes))
    if (part == AxisPart::Contracted)
      summed.push_back(int64_t(axis));
  TermCount count =
      TermCount::along(*shape, summed, gradients.spread(operand.input).axes,
                       gradients.samples());
  // A channel that is summed counts as a position.
  count.positions *= count.channels;
  if (isBlock) {
    double size = double(scaling.size);
    count.positions = std::min(count.positions, size);
    count.samples = std::clamp(size / count.positions, 1.0, count.samples);
  }
  return channels->shareOfDead(count.positions, count.samples);
}
