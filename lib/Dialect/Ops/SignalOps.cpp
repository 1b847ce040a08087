//===- SignalOps.cpp - Windows, Fourier and image transforms --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Ops/SignalOps.h"

#include "mpopt/Dialect/InferenceSupport.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/SignalOps.cpp.inc"

void MPDialect::registerSignalOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/SignalOps.cpp.inc"
      >();
}

/// The one element of a scalar parameter, if it is known.
static std::optional<int64_t> scalar(const ShapeFacts &facts, Value value) {
  auto elements = value ? facts.constants(value) : std::nullopt;
  if (!elements || elements->size() != 1)
    return std::nullopt;
  return elements->front();
}

ArrayRef<StringRef> DFTOp::getFrameworkNames(Framework framework) {
  static const StringRef forward[] = {"fft_fft", "fft_fftn", "fft_fft2"};
  static const StringRef inverse[] = {"fft_ifft", "fft_ifftn", "fft_ifft2"};
  static const StringRef real[] = {"fft_rfft", "fft_rfftn", "fft_rfft2"};
  static const StringRef inverseReal[] = {"fft_irfft", "fft_irfftn",
                                          "fft_irfft2"};
  static const StringRef tensorflow[] = {"FFT"}, tfInverse[] = {"IFFT"};
  static const StringRef tfReal[] = {"RFFT"}, tfInverseReal[] = {"IRFFT"};
  static const StringRef onnx[] = {"DFT"};
  if (framework == Framework::Onnx)
    return onnx;
  bool torch = framework == Framework::PyTorch;
  if (getOnesided()) {
    if (getInverse())
      return torch ? inverseReal : ArrayRef<StringRef>(tfInverseReal);
    return torch ? real : ArrayRef<StringRef>(tfReal);
  }
  if (getInverse())
    return torch ? inverse : ArrayRef<StringRef>(tfInverse);
  return torch ? forward : ArrayRef<StringRef>(tensorflow);
}

LogicalResult DFTOp::inferResultTypes(const ShapeFacts &facts,
                                      SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "length", getLength(), {0, 1})) ||
      failed(checkRank(*this, "axis", getDynamicAxis(), {0, 1})))
    return failure();
  Type element = getElementType(getInput());
  MaybeShape result = getShape(getInput());
  if (!result) {
    types.push_back(getTensorType(std::nullopt, element));
    return success();
  }
  bool complex = isa<ComplexType>(element);
  int64_t rank = result->size();
  if (rank < (complex ? 1 : 2))
    return emitOpError("has an input of rank ") << rank;
  int64_t parts = result->back();
  if (!complex && parts != kDynamic && parts != 1 && parts != 2)
    return emitOpError("last dim is ") << parts << ", not 1 or 2";
  if (getOnesided() && !getInverse() && (complex || parts == 2))
    return emitOpError("has a one-sided spectrum of complex input");
  std::optional<int64_t> length = scalar(facts, getLength());
  if (length && *length < 1)
    return emitOpError("has length ") << *length;
  std::optional<int64_t> position = getDynamicAxis()
                                        ? scalar(facts, getDynamicAxis())
                                        : std::optional<int64_t>(getAxis());
  if (position) {
    FailureOr<int64_t> axis = checkAxis(*this, *position, rank);
    if (failed(axis))
      return failure();
    if (!complex && *axis == rank - 1)
      return emitOpError("axis is that of real and imaginary parts");
    int64_t &dim = (*result)[*axis];
    if (length)
      dim = *length;
    else if (getLength())
      dim = kDynamic;
    // One-sided spectra hold floor(N / 2) + 1 bins; going back, N is the
    // length asked for, or what the bins of an even signal give.
    if (getOnesided() && dim != kDynamic) {
      if (!getInverse())
        dim = dim / 2 + 1;
      else if (!length)
        dim = dim < 1 ? kDynamic : multiplyDims(2, dim - 1);
    }
  } else if (getLength() || getOnesided()) {
    llvm::fill(MutableArrayRef<int64_t>(*result).drop_back(complex ? 0 : 1),
               kDynamic);
  }
  if (!complex)
    result->back() = getInverse() && getOnesided() ? 1 : 2;
  types.push_back(getTensorType(result, element));
  return success();
}

LogicalResult STFTOp::inferResultTypes(const ShapeFacts &facts,
                                       SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, "signal", getSignal(), {2, 3})) ||
      failed(checkRank(*this, "window", getWindow(), {1})) ||
      failed(checkRank(*this, "frame_step", getFrameStep(), {0, 1})) ||
      failed(checkRank(*this, "frame_length", getFrameLength(), {0, 1})))
    return failure();
  MaybeShape signal = getShape(getSignal());
  int64_t frame = scalar(facts, getFrameLength()).value_or(kDynamic);
  if (getFrameLength() && frame != kDynamic && frame < 1)
    return emitOpError("has frame_length ") << frame;
  if (MaybeShape window = getWindow() ? getShape(getWindow()) : std::nullopt) {
    if (frame != kDynamic && window->front() != kDynamic &&
        window->front() != frame)
      return emitOpError("has a window of ")
             << window->front() << " samples for frames of " << frame;
    if (frame == kDynamic)
      frame = window->front();
  }
  std::optional<int64_t> step = scalar(facts, getFrameStep());
  if (step && *step < 1)
    return emitOpError("has frame_step ") << *step;
  Shape result = {kDynamic, kDynamic, kDynamic, 2};
  if (signal)
    result[0] = (*signal)[0];
  if (signal && (*signal)[1] != kDynamic && frame != kDynamic && step) {
    if ((*signal)[1] < frame)
      return emitOpError("has frames of ")
             << frame << " samples of a signal of " << (*signal)[1];
    result[1] = ((*signal)[1] - frame) / *step + 1;
  }
  if (frame != kDynamic)
    result[2] = getOnesided() ? frame / 2 + 1 : frame;
  types.push_back(getTensorType(result, getElementType(getSignal())));
  return success();
}

LogicalResult
MelWeightMatrixOp::inferResultTypes(const ShapeFacts &facts,
                                    SmallVectorImpl<Type> &types) {
  std::optional<int64_t> bins = scalar(facts, getNumMelBins());
  std::optional<int64_t> length = scalar(facts, getDftLength());
  if (bins && *bins < 1)
    return emitOpError("has num_mel_bins ") << *bins;
  if (length && *length < 1)
    return emitOpError("has dft_length ") << *length;
  types.push_back(getTensorType(
      Shape{length ? *length / 2 + 1 : kDynamic, bins.value_or(kDynamic)},
      getElementType(getResult())));
  return success();
}

ArrayRef<StringRef> WindowOp::getFrameworkNames(Framework framework) {
  static const StringRef torch[] = {"hann_window", "hamming_window",
                                    "blackman_window"};
  static const StringRef onnx[] = {"HannWindow", "HammingWindow",
                                   "BlackmanWindow"};
  if (framework == Framework::TensorFlow)
    return {};
  size_t index = getKind() == "hann" ? 0 : getKind() == "hamming" ? 1 : 2;
  return ArrayRef<StringRef>(framework == Framework::PyTorch ? torch[index]
                                                             : onnx[index]);
}

LogicalResult WindowOp::inferResultTypes(const ShapeFacts &facts,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkOneOf(*this, "kind", getKind(),
                        {"hann", "hamming", "blackman"})) ||
      failed(checkRank(*this, "size", getSize(), {0, 1})))
    return failure();
  std::optional<int64_t> size = scalar(facts, getSize());
  if (size && *size < 0)
    return emitOpError("has size ") << *size;
  types.push_back(getTensorType(Shape{size.value_or(kDynamic)},
                                getElementType(getResult())));
  return success();
}
