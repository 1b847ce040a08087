//===- BlockOutlier.cpp - MP613: one weight takes a block's codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: tables of codes (FP4, NF4), whose steps are finer next to 0.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/QuantizationScale.h"
#include "mpopt/Ranges/Value/TransferContext.h"
#include "mpopt/Ranges/Weights/Dequantized.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_BLOCKOUTLIER
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct BlockOutlier : RangeRule<BlockOutlier, mpopt::impl::BlockOutlierBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);

private:
  void report(Operation *op, Value weights, Value scales);

  /// Adds a block: the squares of its codes less the zero point.
  void add(ArrayRef<double> codes, double zero);
  void judgePacked(mp::MatMulNBitsOp op, const RangeAnalysis &ranges);
  void judgeBlocks(mp::DequantizeOp op, const RangeAnalysis &ranges);

  size_t blocks = 0, poor = 0;
};
} // namespace

/// The largest code of a block is at the end by construction: the others are
/// what rounding, even within a step, is compared with.
void BlockOutlier::add(ArrayRef<double> codes, double zero) {
  if (codes.size() < 2)
    return;
  double squares = 0, largest = 0;
  for (double code : codes) {
    double square = (code - zero) * (code - zero);
    squares += square;
    largest = std::max(largest, square);
  }
  double others = (squares - largest) / double(codes.size() - 1);
  constexpr double kNoise = 1.0 / 12;
  ++blocks;
  // A block of zeros has lost nothing.
  poor += largest > 0 && 10 * std::log10(std::max(others, 1e-9) / kNoise) <
                             threshold("block-snr");
}

void BlockOutlier::report(Operation *op, Value weights, Value scales) {
  if (blocks == 0 || double(poor) < threshold("poor-blocks") * double(blocks))
    return;
  RulePass::report(op, op->getResult(0))
      .tensor(weights)
      .message("in " + std::to_string(poor) + " of " + std::to_string(blocks) +
               " blocks of the weight all but the largest one are within " +
               formatNumber(threshold("block-snr")) +
               " dB of the rounding: it takes the codes")
      .cause(scales, "has a scale for each block");
}

/// Codes of 4 bits, the low half of a byte first, or of 8.
void BlockOutlier::judgePacked(mp::MatMulNBitsOp op,
                               const RangeAnalysis &ranges) {
  unsigned bits = unsigned(op.getBits());
  std::optional<WeightView> view = ranges.context().weights(op.getWeight());
  int64_t perByte = bits == 4 ? 2 : 1, size = op.getBlockSize();
  if (op.getCode() != "int" || (bits != 4 && bits != 8) || !view ||
      view->splat || view->size() > kMostElements || size <= 0 ||
      view->size() * perByte % size != 0)
    return;
  std::vector<double> bytes = readAll(*view), codes(size);
  auto zeros = op.getZeroPoints() ? readElements(op.getZeroPoints(), ranges)
                                  : std::nullopt;
  int64_t count = view->size() * perByte / size;
  int64_t perRow =
      std::max<int64_t>(count / std::max<int64_t>(op.getN(), 1), 1);
  bool isPacked = zeros && int64_t(zeros->size()) != count;
  auto half = [](double byte, int64_t index) {
    return index % 2 ? std::floor(byte / 16) : std::fmod(byte, 16);
  };
  for (int64_t block = 0; block < count; ++block) {
    for (int64_t at = 0; at < size; ++at) {
      int64_t index = block * size + at;
      codes[at] = perByte == 2 ? half(bytes[index / 2], index) : bytes[index];
    }
    double zero = std::ldexp(1.0, int(bits) - 1);
    int64_t inRow = block % perRow,
            byte = block / perRow * ((perRow + 1) / 2) + inRow / 2;
    if (zeros && !isPacked)
      zero = (*zeros)[block];
    else if (isPacked && perByte == 2 && byte < int64_t(zeros->size()))
      zero = half((*zeros)[byte], inRow);
    add(codes, zero);
  }
  report(op, op.getWeight(), op.getScales());
}

/// Blocks along the axis of a constant's codes.
void BlockOutlier::judgeBlocks(mp::DequantizeOp op,
                               const RangeAnalysis &ranges) {
  auto format = storageFormatOf(op);
  std::optional<WeightView> view = ranges.context().weights(op.getInput());
  if (!format || format->floats || op.getBlockSize() <= 0 || !view ||
      view->splat || view->size() > kMostElements)
    return;
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), int64_t(view->shape.size()));
  auto zeros = readElements(op.getZeroPoint(), ranges);
  if (!axis || !zeros)
    return;
  std::vector<double> all = readAll(*view), codes;
  int64_t dim = view->shape[*axis], inner = 1, size = op.getBlockSize();
  for (int64_t other : ArrayRef(view->shape).drop_front(*axis + 1))
    inner *= other;
  int64_t perRow = (dim + size - 1) / size;
  for (int64_t row = 0; row < view->size() / dim; ++row)
    for (int64_t block = 0; block < perRow; ++block) {
      int64_t outer = row / inner, column = row % inner;
      codes.clear();
      for (int64_t at = block * size; at < std::min(dim, (block + 1) * size);
           ++at)
        codes.push_back(all[(outer * dim + at) * inner + column]);
      int64_t scale = (outer * perRow + block) * inner + column;
      add(codes, zeros->size() == 1               ? zeros->front()
                 : scale < int64_t(zeros->size()) ? (*zeros)[scale]
                                                  : 0);
    }
  report(op, op.getInput(), op.getScale());
}

void BlockOutlier::judge(Operation *op, const RangeAnalysis &ranges) {
  blocks = poor = 0;
  if (auto product = dyn_cast<mp::MatMulNBitsOp>(op))
    judgePacked(product, ranges);
  else if (auto dequantize = dyn_cast<mp::DequantizeOp>(op))
    judgeBlocks(dequantize, ranges);
}
