//===- Dequantized.cpp - Numbers for which codes stand
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Dequantized.h"

#include "mpopt/Dialect/TypeSupport.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

std::vector<double> mpopt::readAll(const WeightView &view) {
  std::vector<double> elements(view.splat ? 1 : view.size());
  view.read(0, elements);
  return elements;
}

namespace {
/// Finds the scale of each code: one of all, one of an index of the axis, or
/// one of `block` elements along it.
class ScaleOf {
public:
  ScaleOf(const WeightView &codes, const StorageFormat &format) {
    std::optional<int64_t> axis =
        normalizeAxis(format.axis.value_or(0), int64_t(codes.shape.size()));
    size = codes.size();
    if (!axis)
      return;
    dim = codes.shape[*axis];
    for (int64_t other : ArrayRef(codes.shape).drop_front(*axis + 1))
      inner *= other;
    block = format.block;
  }

  /// The number of scales for which `at` has indices, if they are several.
  int64_t count() const {
    return block > 0 ? size / std::max<int64_t>(dim, 1) * blocks() : dim;
  }
  int64_t at(int64_t index) const {
    int64_t along = index / inner % dim;
    if (block == 0)
      return along;
    return (index / (inner * dim) * blocks() + along / block) * inner +
           index % inner;
  }

private:
  int64_t blocks() const { return (dim + block - 1) / block; }

  int64_t size = 0, dim = 1, inner = 1, block = 0;
};
} // namespace

/// Applies `function` to each element, its scale and its zero point; empty
/// where scales and elements do not fit, or it gives nothing.
static std::vector<float> mapScaled(
    const WeightView &view, const WeightView &scales,
    const std::optional<WeightView> &zeroPoints, const StorageFormat &format,
    llvm::function_ref<std::optional<float>(double, double, double)> function) {
  ScaleOf scaleOf(view, format);
  std::vector<double> factors = readAll(scales), zeros = {0.0};
  if (zeroPoints)
    zeros = readAll(*zeroPoints);
  for (const std::vector<double> *list : {&factors, &zeros})
    if (list->size() != 1 && int64_t(list->size()) != scaleOf.count())
      return {};
  std::vector<float> result(view.size());
  // Elements read at a time: 8 KiB on the stack.
  constexpr int64_t kPiece = 1 << 10;
  double piece[kPiece];
  for (int64_t first = 0; first < view.size(); first += kPiece) {
    MutableArrayRef<double> read(piece, std::min(kPiece, view.size() - first));
    view.read(first, read);
    for (auto [offset, element] : llvm::enumerate(read)) {
      int64_t at = scaleOf.at(first + int64_t(offset));
      std::optional<float> made =
          function(element, factors.size() == 1 ? factors[0] : factors[at],
                   zeros.size() == 1 ? zeros[0] : zeros[at]);
      if (!made)
        return {};
      result[first + offset] = *made;
    }
  }
  return result;
}

std::vector<float>
mpopt::dequantize(const WeightView &codes, const WeightView &scales,
                  const std::optional<WeightView> &zeroPoints,
                  const StorageFormat &format) {
  return mapScaled(codes, scales, zeroPoints, format,
                   [](double code, double scale, double zero) {
                     return std::optional(float((code - zero) * scale));
                   });
}

std::vector<float> mpopt::quantize(const WeightView &numbers,
                                   const WeightView &scales,
                                   const std::optional<WeightView> &zeroPoints,
                                   const StorageFormat &format) {
  if (format.floats)
    return {};
  return mapScaled(
      numbers, scales, zeroPoints, format,
      [&](double number, double scale, double zero) -> std::optional<float> {
        float quotient = float(number) / float(scale);
        if (!std::isfinite(quotient))
          return std::nullopt;
        return float(std::clamp(std::nearbyint(double(quotient)) + zero,
                                format.codes.lo, format.codes.hi));
      });
}

std::vector<float>
mpopt::fakeQuantize(const WeightView &numbers, const WeightView &scales,
                    const std::optional<WeightView> &zeroPoints,
                    const StorageFormat &format) {
  return mapScaled(
      numbers, scales, zeroPoints, format,
      [&](double number, double scale, double zero) -> std::optional<float> {
        float product = float(number) * (1 / float(scale));
        if (!std::isfinite(product))
          return std::nullopt;
        double code = std::clamp(std::nearbyint(double(product)) + zero,
                                 format.codes.lo, format.codes.hi);
        return float((code - zero) * float(scale));
      });
}
