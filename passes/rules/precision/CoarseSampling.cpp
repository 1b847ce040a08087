//===- CoarseSampling.cpp - MP308: coordinates coarser than pixels
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/RangeSupport.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_COARSESAMPLING
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct CoarseSampling
    : RangeRule<CoarseSampling, mpopt::impl::CoarseSamplingBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};

/// The coordinates at which an op reads an image.
struct Coordinates {
  Value value;
  /// Pixels that one unit of them is, and the largest inside of the image.
  double pixels, most;
};
} // namespace

/// Nothing for other ops, and for images of open size.
static std::optional<Coordinates> findCoordinates(Operation *op) {
  if (!isa<mp::GridSampleOp, mp::RoiAlignOp>(op))
    return std::nullopt;
  MaybeShape shape = getShape(op->getOperand(0));
  if (!shape || shape->size() < 3)
    return std::nullopt;
  int64_t size = *llvm::max_element(llvm::drop_begin(*shape, 2));
  if (llvm::is_contained(llvm::drop_begin(*shape, 2), kDynamic) || size < 1)
    return std::nullopt;
  // -1 and 1 are the ends of the image: of its pixels, or their centres.
  if (auto sample = dyn_cast<mp::GridSampleOp>(op))
    return Coordinates{sample.getGrid(),
                       double(sample.getAlignCorners() ? size - 1 : size) / 2,
                       1};
  auto align = cast<mp::RoiAlignOp>(op);
  double scale = align.getSpatialScale().convertToDouble();
  return Coordinates{align.getRois(), scale, double(size) / scale};
}

void CoarseSampling::judge(Operation *op, const RangeAnalysis &ranges) {
  std::optional<Coordinates> at = findCoordinates(op);
  const FloatFormat *format =
      at ? getFloatFormat(getElementType(at->value)) : nullptr;
  if (!format || !isLowPrecision(getElementType(at->value)))
    return;
  // Those beyond the image are read as its edge, or as 0; the largest one
  // inside has the steps below a power of two.
  std::optional<double> likely = ranges.magnitudes(at->value).likely;
  double inside = std::nextafter(at->most, 0.0);
  double size =
      std::min(likely.value_or(ranges.magnitudes(at->value).bound), inside);
  if (!(size > 0))
    return;
  double step = format->ulp(size), pixels = step * at->pixels;
  double least = threshold("sampling-step");
  if (pixels < least)
    return;
  FindingBuilder finding = report(op, at->value);
  finding.severity(pixels >= 2 * least ? Severity::Warning : Severity::Note)
      .certainty(likely ? Certainty::Likely : Certainty::Possible)
      .about(at->value)
      .message("sampling coordinates up to " + formatNumber(size) + " are " +
               formatNumber(step) + " apart in " + format->name +
               ", which is " + formatNumber(std::round(pixels * 100) / 100) +
               (pixels < 2 ? " of a pixel" : " pixels"));
  addRange(finding, at->value, ranges);
  addGrowth(finding, at->value, ranges, bool(likely));
  fixByKeeping(finding, getElementType(at->value),
               "the coordinates and the sampling");
}
