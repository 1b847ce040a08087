//===- Transform.cpp - Samples of Fourier transforms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Samples.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/SignalOps.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::samples;

namespace {
/// Sums over `terms` numbers of the signal for each of `bins`, of a period of
/// `length`.
struct Transform {
  Transform(int64_t length, int64_t terms, int64_t bins, bool inverse)
      : length(length), terms(terms), bins(bins), sign(inverse ? 1.0 : -1.0),
        divisor(inverse ? double(length) : 1) {
    for (int64_t at = 0; at < length; ++at) {
      double angle = 2 * std::numbers::pi * double(at) / double(length);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }

  /// `parts` is 1 for a real signal, 2 for real and imaginary part.
  void
  run(llvm::function_ref<double(int64_t term, int64_t part)> read,
      int64_t parts,
      llvm::function_ref<void(int64_t bin, double re, double im)> write) const {
    for (int64_t bin = 0; bin < bins; ++bin) {
      double re = 0, im = 0;
      for (int64_t term = 0; term < terms; ++term) {
        auto at = size_t(bin * term % length);
        double x = read(term, 0), y = parts == 2 ? read(term, 1) : 0;
        re += x * cosines[at] - sign * y * sines[at];
        im += sign * x * sines[at] + y * cosines[at];
      }
      write(bin, re / divisor, im / divisor);
    }
  }
  double products() const { return 4 * double(terms) * double(bins); }

  int64_t length, terms, bins;
  double sign, divisor;
  std::vector<double> cosines, sines;
};
} // namespace

/// An operand's only number.
static std::optional<int64_t> numberOf(Value value, Samples &samples) {
  auto known = value ? samples.ctx.shapes().constants(value) : std::nullopt;
  return known && known->size() == 1 ? std::optional(known->front())
                                     : std::nullopt;
}

/// The mirrored half is not put back.
static Result transform(mp::DFTOp op, Samples &samples) {
  const Array *input = samples.find(op.getInput());
  if (!input || input->shape.size() < 2 ||
      (op.getInverse() && op.getOnesided()))
    return std::nullopt;
  std::optional<int64_t> axis = cells::findAxis(
      samples.ctx, op.getInput(), op.getAxis(), op.getDynamicAxis());
  int64_t parts = input->shape.back();
  if (!axis || *axis + 1 >= int64_t(input->shape.size()) || parts < 1 ||
      parts > 2)
    return std::nullopt;
  int64_t size = input->shape[*axis];
  std::optional<int64_t> length =
      op.getLength() ? numberOf(op.getLength(), samples) : size;
  if (!length || *length < 1)
    return std::nullopt;
  Shape shape = input->shape;
  shape[*axis] = op.getOnesided() ? *length / 2 + 1 : *length;
  shape.back() = 2;
  Transform made(*length, std::min(size, *length), shape[*axis],
                 op.getInverse());
  int64_t from = input->stride(*axis), inner = from / parts;
  int64_t outer = input->count * input->size() / (size * from);
  if (!samples.spend(made.products() * double(outer * inner)))
    return std::nullopt;
  Array result = Array::zeros(input->count, std::move(shape));
  int64_t to = result.stride(*axis);
  for (int64_t at = 0; at < outer * inner; ++at) {
    const float *read =
        input->numbers.data() + at / inner * size * from + at % inner * parts;
    float *written =
        result.numbers.data() + at / inner * made.bins * to + at % inner * 2;
    made.run(
        [&](int64_t term, int64_t part) { return read[term * from + part]; },
        parts,
        [&](int64_t bin, double re, double im) {
          written[bin * to] = float(re);
          written[bin * to + 1] = float(im);
        });
  }
  return result;
}

static Result transformFrames(mp::STFTOp op, Samples &samples) {
  const Array *signal = samples.find(op.getSignal()),
              *window = op.getWindow() ? samples.find(op.getWindow()) : nullptr;
  std::optional<int64_t> step = numberOf(op.getFrameStep(), samples);
  if (!signal || !step || *step < 1 || (op.getWindow() && !window) ||
      signal->shape.size() < 2 || signal->shape.size() > 3)
    return std::nullopt;
  int64_t parts = signal->shape.size() == 3 ? signal->shape.back() : 1;
  int64_t size = signal->shape[1];
  std::optional<int64_t> length = op.getFrameLength()
                                      ? numberOf(op.getFrameLength(), samples)
                                  : window ? std::optional(window->size())
                                           : std::nullopt;
  if (!length || *length < 1 || *length > size || parts < 1 || parts > 2 ||
      (window && (window->count != 1 || window->size() != *length)))
    return std::nullopt;
  int64_t frames = (size - *length) / *step + 1;
  Transform made(*length, *length, op.getOnesided() ? *length / 2 + 1 : *length,
                 false);
  int64_t signals = signal->count * signal->shape[0];
  if (!samples.spend(made.products() * double(signals * frames)))
    return std::nullopt;
  Array result =
      Array::zeros(signal->count, {signal->shape[0], frames, made.bins, 2});
  for (int64_t at = 0; at < signals * frames; ++at) {
    const float *read = signal->numbers.data() +
                        (at / frames * size + at % frames * *step) * parts;
    float *written = result.numbers.data() + at * made.bins * 2;
    made.run(
        [&](int64_t term, int64_t part) {
          double weight = window ? window->numbers[size_t(term)] : 1;
          return weight * read[term * parts + part];
        },
        parts,
        [&](int64_t bin, double re, double im) {
          written[2 * bin] = float(re);
          written[2 * bin + 1] = float(im);
        });
  }
  return result;
}

/// a0 - a1 cos + a2 cos, as ONNX writes the coefficients.
Result samples::makeWindow(Value value, TransferContext &ctx) {
  auto op = peel(value).getDefiningOp<mp::WindowOp>();
  std::optional<int64_t> size =
      op ? TransferContext::dimOf(op.getResult(), 0) : std::nullopt;
  // As long as a signal that is worth evaluating.
  constexpr int64_t kMost = 1 << 16;
  if (!size || *size < 2 || *size > kMost)
    return std::nullopt;
  double second = op.getKind() == "blackman" ? 0.08 : 0;
  double first = op.getKind() == "hann"      ? 0.5
                 : op.getKind() == "hamming" ? 25.0 / 46
                                             : 0.42;
  Array window = Array::zeros(1, {*size});
  double step =
      2 * std::numbers::pi / double(op.getPeriodic() ? *size : *size - 1);
  for (auto [at, number] : llvm::enumerate(window.numbers)) {
    double angle = step * double(at);
    number = float(first - (1 - first - second) * std::cos(angle) +
                   second * std::cos(2 * angle));
  }
  return window;
}

Result samples::evaluateTransform(OpResult result, Samples &samples) {
  return TypeSwitch<Operation *, Result>(result.getOwner())
      .Case([&](mp::DFTOp op) { return transform(op, samples); })
      .Case([&](mp::STFTOp op) { return transformFrames(op, samples); })
      .Default(std::nullopt);
}
