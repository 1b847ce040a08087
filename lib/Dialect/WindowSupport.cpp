//===- WindowSupport.cpp - Sliding windows of convolutions and pools ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/WindowSupport.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;

Window Window::get(ArrayRef<int64_t> kernel, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> dilations, ArrayRef<int64_t> pads,
                   StringRef autoPad, bool ceil) {
  Window window;
  window.autoPad = autoPad;
  window.ceil = ceil;
  size_t rank = kernel.size();
  for (size_t index = 0; index < rank; ++index) {
    WindowDim dim;
    dim.kernel = kernel[index];
    if (strides.size() == rank)
      dim.stride = strides[index];
    if (dilations.size() == rank)
      dim.dilation = dilations[index];
    if (pads.size() == 2 * rank && autoPad == "NOTSET") {
      dim.padBegin = pads[index];
      dim.padEnd = pads[rank + index];
    }
    window.dims.push_back(dim);
  }
  return window;
}

std::optional<std::pair<int64_t, int64_t>> Window::pads(unsigned index,
                                                        int64_t input) const {
  const WindowDim &dim = dims[index];
  if (!autoPad.starts_with("SAME"))
    return std::pair(dim.padBegin, dim.padEnd);
  if (input < 0 || dim.extent() < 0)
    return std::nullopt;
  int64_t count = llvm::divideCeil(uint64_t(input), uint64_t(dim.stride));
  CheckedDim needed =
      (CheckedDim(count) - 1) * dim.stride + dim.extent() - input;
  if (!needed.isKnown())
    return std::nullopt;
  int64_t total = std::max<int64_t>(0, *needed);
  int64_t half = total / 2;
  return autoPad == "SAME_UPPER" ? std::pair(half, total - half)
                                 : std::pair(total - half, half);
}

std::optional<int64_t> Window::outputDim(unsigned index, int64_t input) const {
  const WindowDim &dim = dims[index];
  if (input < 0)
    return kDynamic;
  if (autoPad.starts_with("SAME"))
    return int64_t(llvm::divideCeil(uint64_t(input), uint64_t(dim.stride)));
  CheckedDim begin = CheckedDim(input) + dim.padBegin;
  CheckedDim checked = begin + dim.padEnd - dim.extent();
  if (dim.extent() < 0 || !checked.isKnown())
    return kDynamic;
  int64_t room = *checked;
  // A window that does not fit. ONNX rounds towards zero, runtimes down: where
  // they differ the dim is unknown.
  if (room < 0) {
    int64_t count = room / dim.stride + 1;
    if (count < 0)
      return std::nullopt;
    return room % dim.stride ? kDynamic : count;
  }
  if (!ceil)
    return room / dim.stride + 1;
  int64_t count =
      int64_t(llvm::divideCeil(uint64_t(room), uint64_t(dim.stride))) + 1;
  // The last window must start in the input or the padding before it.
  CheckedDim last = (CheckedDim(count) - 1) * dim.stride;
  if (!last.isKnown())
    return kDynamic;
  if (*last >= *begin)
    --count;
  return count;
}

LogicalResult mpopt::verifyWindow(Operation *op, std::optional<int64_t> rank,
                                  ArrayRef<int64_t> strides,
                                  ArrayRef<int64_t> dilations,
                                  ArrayRef<int64_t> pads, StringRef autoPad) {
  auto check = [&](StringRef name, ArrayRef<int64_t> list, int64_t each,
                   int64_t least) -> LogicalResult {
    if (list.empty())
      return success();
    if (rank && int64_t(list.size()) != *rank * each)
      return op->emitOpError()
             << name << " has " << list.size() << " entries where " << *rank
             << " spatial dims need " << *rank * each;
    for (int64_t entry : list)
      if (entry < least)
        return op->emitOpError()
               << name << " has entry " << entry << ", the least is " << least;
    return success();
  };
  if (failed(check("strides", strides, 1, 1)) ||
      failed(check("dilations", dilations, 1, 1)) ||
      // Negative padding crops; PyTorch and exporters use it for pads alone.
      failed(check("pads", pads, 2, std::numeric_limits<int64_t>::min())))
    return failure();
  if (autoPad != "NOTSET" && autoPad != "VALID" && autoPad != "SAME_UPPER" &&
      autoPad != "SAME_LOWER")
    return op->emitOpError("unknown auto_pad '") << autoPad << "'";
  return success();
}
