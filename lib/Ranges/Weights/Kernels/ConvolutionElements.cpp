//===- ConvolutionElements.cpp - Ranges of each element of a convolution
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums in double, term by term; their error is bounded as in Linear.cpp.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Convolution.h"

#include "Reader.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include <cassert>
#include <cmath>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

namespace {
/// A tap and the element of an input channel's map that it reads.
struct Reading {
  uint32_t tap;
  uint64_t element;
};

class ElementSums {
public:
  explicit ElementSums(const ConvolutionRequest &request);

  LinearSums run();

private:
  void readWeights();
  void readPosition(uint64_t position, std::vector<Reading> &readings) const;
  void sumPosition(uint64_t position, LinearSums &sums) const;
  void sum(uint64_t output, ArrayRef<Reading> readings, size_t to,
           LinearSums &sums) const;
  /// The weight's index without its tap.
  uint64_t weightBase(uint64_t output, uint64_t input) const {
    uint64_t out = request.outputs / request.groups;
    uint64_t in = request.inputs / request.groups;
    if (request.transposed)
      return ((output / out * in + input) * out + output % out) * taps;
    return (output * in + input) * taps;
  }

  const ConvolutionRequest &request;
  uint64_t taps, inputSize = 1, positions = 1;
  llvm::SmallVector<int64_t, 3> outputSizes;
  std::vector<double> weights;
  std::vector<uint8_t> flags;
};
} // namespace

ElementSums::ElementSums(const ConvolutionRequest &request)
    : request(request), taps(request.taps()) {
  for (const ConvolutionAxis &axis : request.axes) {
    assert(axis.inputSize >= 0 && "sizes are known");
    inputSize *= axis.inputSize;
    outputSizes.push_back(axis.outputSize(request.transposed));
    positions *= outputSizes.back();
  }
}

void ElementSums::readWeights() {
  uint64_t count = request.outputs * (request.inputs / request.groups) * taps;
  weights.resize(count);
  std::vector<std::pair<size_t, uint8_t>> marks;
  WeightReader(request.weights)
      .read(0, count, weights.data(),
            [&](size_t at, uint8_t flag) { marks.push_back({at, flag}); });
  uint64_t out = request.outputs / request.groups;
  uint64_t in = request.inputs / request.groups;
  auto outputOf = [&](size_t at) {
    if (!request.transposed)
      return at / taps / in;
    return at / taps / out / in * out + at / taps % out;
  };
  for (auto [at, flag] : marks) {
    if (flags.empty())
      flags.assign(request.outputs * positions, 0);
    // At borders, too, where the tap may be missing: a superset.
    for (uint64_t position = 0; position < positions; ++position)
      flags[outputOf(at) * positions + position] |= flag;
  }
  ArrayRef<double> zeros = request.weights.zeroPoints;
  for (size_t at = 0; !zeros.empty() && at < count; ++at)
    weights[at] -= zeros[zeros.size() == 1 ? 0 : outputOf(at)];
}

void ElementSums::readPosition(uint64_t position,
                               std::vector<Reading> &readings) const {
  readings.assign(1, {0, 0});
  llvm::SmallVector<int64_t, 3> at(outputSizes.size());
  for (size_t axis = at.size(); axis-- > 0; position /= outputSizes[axis])
    at[axis] = position % outputSizes[axis];
  for (auto [axis, index] : llvm::zip(request.axes, at)) {
    std::vector<Reading> next;
    for (const Reading &reading : readings)
      for (int64_t tap = 0; tap < axis.kernel; ++tap)
        if (std::optional<int64_t> input =
                axis.input(index, tap, request.transposed))
          next.push_back({uint32_t(reading.tap * axis.kernel + tap),
                          reading.element * axis.inputSize + *input});
    readings = std::move(next);
  }
}

void ElementSums::sum(uint64_t output, ArrayRef<Reading> readings, size_t to,
                      LinearSums &sums) const {
  const LinearInputs &values = request.values;
  auto get = [](ArrayRef<double> list, size_t index) {
    return list.empty() ? 0 : list[list.size() == 1 ? 0 : index];
  };
  uint64_t perGroup = request.inputs / request.groups;
  uint64_t group = output / (request.outputs / request.groups);
  double centre = 0, radius = 0, terms = 0, squares = 0;
  double mean = 0, variance = 0, sixth = 0;
  bool unbounded = false;
  for (uint64_t input = 0; input < perGroup; ++input) {
    const double *row = weights.data() + weightBase(output, input);
    size_t map = (group * perGroup + input) * inputSize;
    for (const Reading &reading : readings) {
      double w = row[reading.tap], size = std::fabs(w);
      if (w == 0)
        continue;
      size_t at = map + reading.element;
      double c = get(values.centre, at), r = get(values.radius, at);
      if (!std::isfinite(c) || !std::isfinite(r)) {
        unbounded = true;
        continue;
      }
      centre += w * c;
      radius += size * r;
      terms += size * (std::fabs(c) + r);
      squares += w * w;
      mean += w * get(values.mean, at);
      variance += w * w * get(values.variance, at);
      double half = size * get(values.halfRange, at);
      sixth += half * half * half * half * half * half;
    }
  }
  double count = double(perGroup) * double(readings.size());
  double relative = 1.25 * (count + 64) * 0x1p-53;
  double absolute =
      terms == 0 && squares == 0
          ? 0
          : mulUp(count + 1, std::numeric_limits<double>::denorm_min());
  auto up = [&](double sum) {
    return mulUp(addUp(sum, absolute), 1 + 2 * relative);
  };
  sums.centre[to] = centre;
  sums.terms[to] = up(terms);
  sums.radius[to] =
      addUp(up(radius), addUp(mulUp(relative, sums.terms[to]), absolute));
  sums.norm[to] = sqrtUp(up(squares));
  sums.mean[to] = mean;
  sums.variance[to] = variance;
  sums.tail[to] = std::pow(sixth, 1.0 / 6);
  if (unbounded || !std::isfinite(centre) || !std::isfinite(terms)) {
    sums.centre[to] = 0;
    sums.radius[to] = sums.terms[to] = kInfinity;
  }
}

void ElementSums::sumPosition(uint64_t position, LinearSums &sums) const {
  std::vector<Reading> readings;
  readPosition(position, readings);
  for (uint64_t output = 0; output < request.outputs; ++output)
    sum(output, readings, output * positions + position, sums);
}

LinearSums ElementSums::run() {
  readWeights();
  LinearSums sums;
  for (std::vector<double> *list :
       {&sums.centre, &sums.radius, &sums.terms, &sums.norm, &sums.mean,
        &sums.variance, &sums.tail})
    list->assign(request.outputs * positions, 0);
  sums.flags = std::move(flags);
  // A step takes about as long as reading 16 bytes.
  forEachTask(positions, positions * request.outputs * request.terms() * 16,
              [&](size_t position) { sumPosition(position, sums); });
  return sums;
}

LinearSums mpopt::convolutionElements(const ConvolutionRequest &request) {
  return ElementSums(request).run();
}
