//===- Convolution.cpp - Convolutions as products of unfolded inputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "Unfolding.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

namespace {
/// An image [N, C, D1...] whose channels come in groups.
struct Image {
  int64_t samples, channels, positions, groups;

  Image(const Array &array, int64_t groups)
      : samples(array.shape[0]), channels(array.shape[1]),
        positions(array.stride(1)), groups(groups) {}
  int64_t perGroup() const { return channels / groups; }
};
} // namespace

/// False where columns are so many that they are not worth a draw.
static bool areFew(const Image &image, const Unfolding &windows) {
  constexpr double kMost = 0x1p28;
  return double(image.samples) * double(image.channels) *
             double(windows.outputs) * double(windows.taps) <=
         kMost;
}

/// [groups, positions of all samples, channels * taps]
static Matrices unfold(const Array &array, const Image &image,
                       const Unfolding &windows) {
  int64_t taps = windows.taps, out = windows.outputs;
  Matrices made{image.groups, image.samples * out, image.perGroup() * taps, {}};
  made.numbers.resize(size_t(made.batch * made.rows * made.depth));
  for (int64_t group = 0; group < image.groups; ++group)
    for (int64_t sample = 0; sample < image.samples; ++sample)
      for (int64_t channel = 0; channel < image.perGroup(); ++channel) {
        const float *from =
            array.numbers.data() +
            (sample * image.channels + group * image.perGroup() + channel) *
                image.positions;
        float *to =
            made.matrix(group) + sample * out * made.depth + channel * taps;
        for (int64_t at = 0; at < out; ++at)
          for (int64_t tap = 0; tap < taps; ++tap) {
            int64_t source = windows.source(tap, at);
            to[at * made.depth + tap] = source < 0 ? 0 : from[source];
          }
      }
  return made;
}

/// The inverse: what falls on one element adds up.
static Array fold(const Matrices &columns, Shape shape, const Image &image,
                  const Unfolding &windows) {
  Array result = Array::zeros(std::move(shape));
  int64_t taps = windows.taps, out = windows.outputs;
  for (int64_t group = 0; group < image.groups; ++group)
    for (int64_t sample = 0; sample < image.samples; ++sample)
      for (int64_t channel = 0; channel < image.perGroup(); ++channel) {
        float *to =
            result.numbers.data() +
            (sample * image.channels + group * image.perGroup() + channel) *
                image.positions;
        const float *from = columns.matrix(group) +
                            sample * out * columns.depth + channel * taps;
        for (int64_t at = 0; at < out; ++at)
          for (int64_t tap = 0; tap < taps; ++tap)
            if (int64_t target = windows.source(tap, at); target >= 0)
              to[target] += from[at * columns.depth + tap];
      }
  return result;
}

/// [groups, positions of all samples, channels]
static Matrices pointsOf(const Array &array, const Image &image) {
  Matrices made{
      image.groups, image.samples * image.positions, image.perGroup(), {}};
  made.numbers.resize(array.numbers.size());
  for (int64_t sample = 0; sample < image.samples; ++sample)
    for (int64_t channel = 0; channel < image.channels; ++channel) {
      const float *from = array.numbers.data() +
                          (sample * image.channels + channel) * image.positions;
      float *to = made.matrix(channel / image.perGroup()) +
                  sample * image.positions * made.depth +
                  channel % image.perGroup();
      for (int64_t at = 0; at < image.positions; ++at)
        to[at * made.depth] = from[at];
    }
  return made;
}

static Array imageOf(const Matrices &points, Shape shape, int64_t groups) {
  Array result = Array::zeros(std::move(shape));
  Image image(result, groups);
  for (int64_t sample = 0; sample < image.samples; ++sample)
    for (int64_t channel = 0; channel < image.channels; ++channel) {
      float *to = result.numbers.data() +
                  (sample * image.channels + channel) * image.positions;
      const float *from = points.matrix(channel / image.perGroup()) +
                          sample * image.positions * points.depth +
                          channel % image.perGroup();
      for (int64_t at = 0; at < image.positions; ++at)
        to[at] = from[at * points.depth];
    }
  return result;
}

/// [groups, filters of a group, channels * taps]
static Matrices filterOf(const Array &filter, int64_t groups) {
  return {groups, filter.shape[0] / groups, filter.stride(0), filter.numbers};
}

static bool addBias(Array &result, Value bias, Evaluation &in) {
  if (!bias)
    return true;
  const Array *added = in.find(bias);
  if (!added || added->size() != result.shape[1])
    return false;
  int64_t positions = result.stride(1);
  for (size_t at = 0; at < result.numbers.size(); ++at)
    result.numbers[at] +=
        added->numbers[at / size_t(positions) % added->numbers.size()];
  return true;
}

/// True if the arrays are an image and a filter in so many groups.
static bool fit(const Array *input, const Array *filter, int64_t groups) {
  return input && filter && groups > 0 && input->rank() >= 3 &&
         filter->rank() == input->rank() && input->size() > 0 &&
         filter->size() > 0 && input->shape[1] % groups == 0 &&
         filter->shape[0] % groups == 0;
}

static ArrayRef<int64_t> spatial(const Array &array) {
  return ArrayRef(array.shape).drop_front(2);
}

static LogicalResult convolve(mp::ConvOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput()),
              *filter = in.find(op.getFilter());
  int64_t groups = int64_t(op.getGroup());
  if (!fit(input, filter, groups) ||
      input->shape[1] / groups != filter->shape[1])
    return failure();
  Window window = Window::get(spatial(*filter), op.getStrides(),
                              op.getDilations(), op.getPads(), op.getAutoPad());
  auto windows = Unfolding::get(window, spatial(*input));
  Image image(*input, groups);
  if (!windows || !areFew(image, *windows))
    return failure();
  auto made = in.multiply(op->getOpResult(0), unfold(*input, image, *windows),
                          filterOf(*filter, groups));
  if (!made)
    return failure();
  Shape shape = {input->shape[0], filter->shape[0]};
  shape.append(windows->shape.begin(), windows->shape.end());
  Array result = imageOf(*made, std::move(shape), groups);
  if (!addBias(result, op.getBias(), in))
    return failure();
  in.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult convolveBack(mp::ConvGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad()), *input = in.find(op.getInput()),
              *filter = in.find(op.getFilter());
  int64_t groups = int64_t(op.getGroup());
  if (!grad || !fit(input, filter, groups) || grad->rank() != input->rank() ||
      grad->shape[0] != input->shape[0] || grad->shape[1] != filter->shape[0] ||
      input->shape[1] / groups != filter->shape[1])
    return failure();
  auto list = [](std::optional<ArrayRef<int64_t>> given) {
    return given.value_or(ArrayRef<int64_t>());
  };
  Window window =
      Window::get(spatial(*filter), list(op.getStrides()),
                  list(op.getDilations()), list(op.getPads()), op.getAutoPad());
  auto windows = Unfolding::get(window, spatial(*input), spatial(*grad));
  Image image(*input, groups);
  if (!windows || !areFew(image, *windows))
    return failure();
  Matrices dy = pointsOf(*grad, Image(*grad, groups));
  if (!op.getInputGrad().use_empty()) {
    auto made = in.multiply(cast<OpResult>(op.getInputGrad()), dy,
                            filterOf(*filter, groups).transposed());
    if (!made)
      return failure();
    in.set(op.getInputGrad(), fold(*made, input->shape, image, *windows));
  }
  if (!op.getFilterGrad().use_empty()) {
    auto made = in.multiply(cast<OpResult>(op.getFilterGrad()),
                            unfold(*input, image, *windows).transposed(),
                            dy.transposed());
    if (!made)
      return failure();
    in.set(op.getFilterGrad(),
           {filter->shape, std::move(made->transposed().numbers)});
  }
  Array bias = Array::zeros({grad->shape[1]});
  std::vector<double> sums(bias.numbers.size());
  for (auto [at, number] : llvm::enumerate(grad->numbers))
    sums[at / size_t(grad->stride(1)) % sums.size()] += number;
  bias.numbers.assign(sums.begin(), sums.end());
  in.set(op.getBiasGrad(), std::move(bias));
  return success();
}

/// The size of a transposed convolution's output along a dim.
static int64_t transposedDim(mp::ConvTransposeOp op, const WindowDim &dim,
                             size_t index, int64_t input) {
  auto more = op.getOutputPadding();
  return dim.stride * (input - 1) + (index < more.size() ? more[index] : 0) +
         dim.extent() - dim.padBegin - dim.padEnd;
}

/// [N, C, D1...] times [C, M / group, K1...]: what a convolution of the result
/// passes back.
static LogicalResult convolveTransposed(mp::ConvTransposeOp op,
                                        Evaluation &in) {
  const Array *input = in.find(op.getInput()),
              *filter = in.find(op.getFilter());
  int64_t groups = int64_t(op.getGroup());
  if (!fit(input, filter, groups) || input->shape[1] != filter->shape[0] ||
      op.getAutoPad() != "NOTSET" || !op.getOutputShape().empty())
    return failure();
  Window window = Window::get(spatial(*filter), op.getStrides(),
                              op.getDilations(), op.getPads(), op.getAutoPad());
  Shape shape = {input->shape[0], filter->shape[1] * groups};
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    shape.push_back(transposedDim(op, dim, index, spatial(*input)[index]));
    if (shape.back() < 1)
      return failure();
  }
  auto windows =
      Unfolding::get(window, ArrayRef(shape).drop_front(2), spatial(*input));
  Array like{shape, {}};
  Image image(like, groups);
  if (!windows || !areFew(image, *windows))
    return failure();
  auto made =
      in.multiply(op->getOpResult(0), pointsOf(*input, Image(*input, groups)),
                  filterOf(*filter, groups).transposed());
  if (!made)
    return failure();
  Array result = fold(*made, shape, image, *windows);
  if (!addBias(result, op.getBias(), in))
    return failure();
  in.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult evaluation::evaluateConvolution(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::ConvOp each) { return convolve(each, in); })
      .Case([&](mp::ConvGradOp each) { return convolveBack(each, in); })
      .Case([&](mp::ConvTransposeOp each) {
        return convolveTransposed(each, in);
      })
      .Default(failure());
}
