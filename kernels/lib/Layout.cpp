//===- Layout.cpp - Where a tensor's elements lie
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Layout.h"

#include <algorithm>
#include <cstring>

using namespace mpopt::kernels;

Layout::Layout(const mpopt_tensor &tensor) {
  int64_t stride = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    int64_t extent = tensor.dims[i];
    total *= uint64_t(extent);
    int64_t here = tensor.strides ? tensor.strides[i] : stride;
    stride *= std::max<int64_t>(extent, 1);
    if (extent == 1)
      continue;
    if (!axes.empty() && here == axes.back().stride * axes.back().extent)
      axes.back().extent *= extent;
    else
      axes.push_back({extent, here});
  }
  // Innermost axis first so far.
  std::reverse(axes.begin(), axes.end());
}

template <class Word>
static void copyRun(const char *from, int64_t stride, size_t count, char *to) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(to + i * sizeof(Word),
                from + int64_t(i) * stride * int64_t(sizeof(Word)),
                sizeof(Word));
}

static void copyRun(const char *from, int64_t stride, unsigned bytes,
                    size_t count, char *to) {
  switch (bytes) {
  case 1:
    return copyRun<uint8_t>(from, stride, count, to);
  case 2:
    return copyRun<uint16_t>(from, stride, count, to);
  case 4:
    return copyRun<uint32_t>(from, stride, count, to);
  default:
    return copyRun<uint64_t>(from, stride, count, to);
  }
}

void Layout::gather(const char *data, unsigned bytes, uint64_t from,
                    size_t count, char *to) const {
  const Axis &inner = axes.back();
  while (count) {
    uint64_t rest = from;
    int64_t within = int64_t(rest % uint64_t(inner.extent));
    rest /= uint64_t(inner.extent);
    int64_t offset = within * inner.stride;
    for (size_t i = axes.size() - 1; i-- > 0;) {
      offset += int64_t(rest % uint64_t(axes[i].extent)) * axes[i].stride;
      rest /= uint64_t(axes[i].extent);
    }
    size_t here = std::min<uint64_t>(count, uint64_t(inner.extent - within));
    copyRun(data + offset * int64_t(bytes), inner.stride, bytes, here, to);
    to += here * bytes;
    from += here;
    count -= here;
  }
}
