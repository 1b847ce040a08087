//===- Unfolding.cpp - The elements that windows meet
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unfolding.h"

using namespace mpopt;
using namespace mpopt::evaluation;
using llvm::ArrayRef;

std::optional<Unfolding>
Unfolding::get(const Window &window, ArrayRef<int64_t> input,
               std::optional<ArrayRef<int64_t>> given) {
  if (window.dims.size() != input.size() || sizeOf(input) > INT32_MAX)
    return std::nullopt;
  Unfolding made;
  Shape kernel, begins;
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    auto count = window.outputDim(unsigned(index), input[index]);
    auto pads = window.pads(unsigned(index), input[index]);
    if (given)
      count = (*given)[index];
    if (!count || *count < 0 || !pads || dim.kernel < 1)
      return std::nullopt;
    made.shape.push_back(*count);
    kernel.push_back(dim.kernel);
    begins.push_back(pads->first);
  }
  made.outputs = sizeOf(made.shape);
  made.taps = sizeOf(kernel);
  // A table beyond this size is not worth a draw.
  constexpr int64_t kMost = 1 << 26;
  if (made.outputs * made.taps > kMost)
    return std::nullopt;
  made.sources.reserve(size_t(made.outputs * made.taps));
  llvm::SmallVector<int64_t, 4> output(input.size(), 0), tap(input.size(), 0);
  auto advance = [](llvm::SmallVector<int64_t, 4> &index, const Shape &shape) {
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        return;
      index[axis] = 0;
    }
  };
  for (int64_t at = 0; at < made.outputs; ++at, advance(output, made.shape))
    for (int64_t each = 0; each < made.taps; ++each, advance(tap, kernel)) {
      int64_t source = 0;
      for (auto [axis, dim] : llvm::enumerate(window.dims)) {
        int64_t place =
            output[axis] * dim.stride + tap[axis] * dim.dilation - begins[axis];
        if (place < 0 || place >= input[axis])
          source = -1;
        else if (source >= 0)
          source = source * input[axis] + place;
      }
      made.sources.push_back(int32_t(source));
    }
  return made;
}
