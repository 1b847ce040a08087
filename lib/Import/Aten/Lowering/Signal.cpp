//===- Signal.cpp - Windows and Fourier transforms, from aten -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mp.stft and mp.dft have real and imaginary part in a last dim; PyTorch gives
// a complex tensor, or such pairs from stft(return_complex=False). Not covered:
// inverse short-time transforms, one-sided spectra of complex input, Bartlett
// and Kaiser windows, windows with coefficients of their own.
//
//===----------------------------------------------------------------------===//

#include "Complex.h"
#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/SignalOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static LogicalResult lowerWindow(NodeContext &context) {
  Type element = context.findElementType();
  if (!element && context.has("dtype"))
    return context.unsupported();
  if (!element)
    element = context.builder().getF32Type();
  Value size = context.tensor("window_length");
  // Coefficients of ONNX's window, within what mp.window's bounds allow.
  bool isDefault = context.getNumber("alpha", 0.54) == 0.54 &&
                   context.getNumber("beta", 0.46) == 0.46;
  if (!size || !isa<FloatType>(element) || context.isDynamic("periodic") ||
      !isDefault)
    return context.unsupported();
  StringRef kind = context.name();
  kind.consume_back("_window");
  context.setOutput(0, context
                           .makeTyped<mp::WindowOp>(
                               {getTensorType(std::nullopt, element)}, size,
                               kind, context.getBool("periodic", true))
                           .getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Short-time transforms
//===----------------------------------------------------------------------===//

static Value padLast(NodeContext &context, Value value, int64_t begin,
                     int64_t end, StringRef mode) {
  if (begin == 0 && end == 0)
    return value;
  Builder &b = context.builder();
  return context.make<mp::PadOp>(value, Value(), Value(), Value(),
                                 b.getDenseI64ArrayAttr({begin, end}),
                                 b.getDenseI64ArrayAttr({-1}), mode);
}

/// PyTorch's names of modes.
static StringRef padMode(StringRef mode) {
  return mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : mode;
}

/// The factors of a frame of `size`: the window with zeros around it, a
/// rectangle of ones without one. Null where it is all ones.
static Value makeFrameWindow(NodeContext &context, int64_t size, int64_t length,
                             Type element) {
  Value window = context.tensor("window");
  if (!window && length == size)
    return {};
  if (!window)
    window = fill(context, context.makeInts({length}), 1, element);
  else
    window = context.cast(window, element);
  int64_t before = (size - length) / 2;
  return padLast(context, window, before, size - length - before, "constant");
}

static LogicalResult lowerStft(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self),
                         size = context.findInt("n_fft");
  for (StringRef name : {"hop_length", "win_length", "center", "normalized",
                         "onesided", "return_complex", "pad_mode"})
    if (context.isDynamic(name))
      return context.unsupported();
  if (!rank || *rank < 1 || *rank > 2 || !size || *size < 1 ||
      !isa<FloatType>(getElementType(self)))
    return context.unsupported();
  int64_t length = context.getInt("win_length", *size),
          step = context.getInt("hop_length", *size / 4);
  if (length < 1 || length > *size || step < 1)
    return context.unsupported();
  Type element = getElementType(self);
  if (*rank == 1)
    self = unsqueeze(context, self, 0);
  // The overload with `center` pads; the module's own ops did for the other.
  if (context.getBool("center"))
    self = padLast(context, self, *size / 2, *size / 2,
                   padMode(context.findString("pad_mode").value_or("reflect")));
  Value window = makeFrameWindow(context, *size, length, element);
  Value frames = context.make<mp::STFTOp>(self, makeInt(context, step), window,
                                          makeInt(context, *size),
                                          context.getBool("onesided", true));
  Value pairs = transpose(context, frames, {0, 2, 1, 3});
  if (context.getBool("normalized"))
    pairs = context.make<mp::MulOp>(
        pairs, constantLike(context, 1 / std::sqrt(double(*size)), pairs));
  if (*rank == 1)
    pairs = squeeze(context, pairs, 0);
  bool complex = context.getBool("return_complex");
  context.setOutput(0, complex ? makeComplexOfPairs(
                                     context.builder(), context.loc(), pairs,
                                     [&](Operation *op) { context.finish(op); })
                               : pairs);
  return success();
}

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

namespace {
/// fft, ifft, rfft, irfft and their forms in two dims.
struct Transform {
  bool inverse, oneSided;
};
} // namespace

/// Pairs of the operand in the last dim; of a real one the last dim is 1.
static Value makePairs(NodeContext &context, Value self) {
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  if (!rank)
    return {};
  if (!isComplex(self))
    return unsqueeze(context, context.toFloat(self), *rank);
  std::optional<ComplexParts> parts = findParts(self);
  return parts ? joinParts(context, *parts) : Value();
}

/// The factor that `norm` puts on a transform of `count` samples which mp.dft
/// leaves as it is forward, and divides by `count` backward.
static std::optional<double> normFactor(NodeContext &context, double count,
                                        bool inverse) {
  StringRef norm = context.findString("norm").value_or("backward");
  if (norm == "backward")
    return 1;
  double power = norm == "ortho" ? 0.5 : norm == "forward" ? 1 : 0;
  if (power == 0 || !(count > 0))
    return std::nullopt;
  return std::pow(count, inverse ? power : -power);
}

/// One dim of pairs transformed; null if its length is needed and open.
static Value transformDim(NodeContext &context, Value pairs, int64_t axis,
                          std::optional<int64_t> length, Transform transform) {
  Value size = length ? makeInt(context, *length) : Value();
  std::optional<int64_t> dim = staticDim(pairs, axis);
  Value result = context.make<mp::DFTOp>(pairs, size, Value(), axis,
                                         transform.inverse, transform.oneSided);
  if (!context.has("norm"))
    return result;
  bool mirrored = transform.inverse && transform.oneSided;
  double count = length     ? double(*length)
                 : !dim     ? 0
                 : mirrored ? double(2 * (*dim - 1))
                            : double(*dim);
  std::optional<double> factor = normFactor(context, count, transform.inverse);
  if (!factor)
    return {};
  return *factor == 1 ? result
                      : context.make<mp::MulOp>(
                            result, constantLike(context, *factor, result));
}

static LogicalResult giveSpectrum(NodeContext &context, Value pairs,
                                  Transform transform) {
  if (!pairs)
    return context.unsupported();
  std::optional<int64_t> rank = NodeContext::rankOf(pairs);
  bool isReal = transform.inverse && transform.oneSided;
  context.setOutput(
      0, isReal
             ? squeeze(context, pairs, *rank - 1)
             : makeComplexOfPairs(context.builder(), context.loc(), pairs,
                                  [&](Operation *op) { context.finish(op); }));
  return success();
}

template <bool inverse, bool oneSided>
static LogicalResult lowerTransform(NodeContext &context) {
  Transform transform{inverse, oneSided};
  Value self = context.tensor("self");
  if (!self || context.isDynamic("n") || context.isDynamic("dim") ||
      (oneSided && inverse != isComplex(self)))
    return context.unsupported();
  std::optional<int64_t> axis =
      NodeContext::axisOf(self, context.getInt("dim", -1));
  Value pairs = makePairs(context, self);
  if (!axis || !pairs)
    return context.unsupported();
  return giveSpectrum(
      context,
      transformDim(context, pairs, *axis, context.findInt("n"), transform),
      transform);
}

/// By default the last two dims: the last one first, or last where it is the
/// one-sided one backward.
template <bool inverse, bool oneSided>
static LogicalResult lowerTransform2(NodeContext &context) {
  Value self = context.tensor("self");
  std::optional<int64_t> rank = NodeContext::rankOf(self);
  if (!rank || *rank < 2 || context.has("s") || context.isDynamic("dim") ||
      (oneSided && inverse != isComplex(self)))
    return context.unsupported();
  SmallVector<int64_t> dims =
      context.findInts("dim").value_or(SmallVector<int64_t>{-2, -1});
  if (dims.size() != 2)
    return context.unsupported();
  for (int64_t &dim : dims)
    dim += dim < 0 ? *rank : 0;
  Value pairs = makePairs(context, self);
  Transform last{inverse, oneSided}, first{inverse, false};
  auto run = [&](int64_t axis, Transform transform) {
    if (pairs)
      pairs = transformDim(context, pairs, axis, std::nullopt, transform);
  };
  if (inverse)
    run(dims[0], first);
  run(dims[1], last);
  if (!inverse)
    run(dims[0], first);
  return giveSpectrum(context, pairs, last);
}

void mpopt::aten::registerSignal(LoweringRegistry &registry) {
  registry.add({"hann_window", "hamming_window", "blackman_window"},
               lowerWindow);
  registry.add("stft", lowerStft);
  registry.add("fft_fft", lowerTransform<false, false>);
  registry.add("fft_ifft", lowerTransform<true, false>);
  registry.add("fft_rfft", lowerTransform<false, true>);
  registry.add("fft_irfft", lowerTransform<true, true>);
  registry.add("fft_fft2", lowerTransform2<false, false>);
  registry.add("fft_ifft2", lowerTransform2<true, false>);
  registry.add("fft_rfft2", lowerTransform2<false, true>);
  registry.add("fft_irfft2", lowerTransform2<true, true>);
}
