//===- View.cpp - How the device reads a tensor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "View.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace mpopt::kernels::cuda;

unsigned mpopt::kernels::cuda::bytesOf(uint32_t dtype) {
  switch (dtype) {
  case MPOPT_F64:
  case MPOPT_I64:
  case MPOPT_U64:
    return 8;
  case MPOPT_F32:
  case MPOPT_I32:
  case MPOPT_U32:
    return 4;
  case MPOPT_F16:
  case MPOPT_BF16:
  case MPOPT_I16:
  case MPOPT_U16:
    return 2;
  case MPOPT_F8E4M3FN:
  case MPOPT_F8E4M3FNUZ:
  case MPOPT_F8E5M2:
  case MPOPT_F8E5M2FNUZ:
  case MPOPT_I8:
  case MPOPT_U8:
  case MPOPT_BOOL:
    return 1;
  }
  return 0;
}

namespace {

struct Axis {
  uint64_t extent;
  int64_t stride;
  bool isChannel;

  uint64_t distance() const {
    return stride < 0 ? 0 - uint64_t(stride) : uint64_t(stride);
  }
};

} // namespace

static bool shapeOf(const mpopt_tensor &tensor, Shape &shape) {
  if (tensor.rank && !tensor.dims)
    return false;
  shape = {};
  shape.count = 1;
  shape.dtype = tensor.dtype;
  shape.rank = tensor.rank;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] < 0 ||
        __builtin_mul_overflow(shape.count, uint64_t(tensor.dims[i]),
                               &shape.count))
      return false;
    if (i < MPOPT_MAX_DIMS)
      shape.dims[i] = tensor.dims[i];
  }
  unsigned bytes = bytesOf(tensor.dtype);
  if (!bytes) {
    shape.flags = MPOPT_COUNT_ONLY;
    return true;
  }
  if (tensor.channel_axis >= 0 && uint32_t(tensor.channel_axis) < tensor.rank) {
    int64_t channels = tensor.dims[tensor.channel_axis];
    if (channels > int64_t(MPOPT_MAX_CHANNELS))
      shape.flags = MPOPT_CHANNELS_DROPPED;
    else
      shape.channels = uint32_t(channels);
  }
  // Divider's numbers are below 2^63, and so is any memory.
  if (shape.count >> 63)
    return false;
  return !shape.count ||
         (tensor.data && reinterpret_cast<uintptr_t>(tensor.data) % bytes == 0);
}

/// Those with more than one element, smallest distance in memory first; joined
/// where they follow each other, but for the channels' one.
static std::vector<Axis> axesOf(const mpopt_tensor &tensor,
                                const Shape &shape) {
  std::vector<Axis> axes;
  int64_t stride = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    bool isChannel = shape.channels && int32_t(i) == tensor.channel_axis;
    int64_t here = tensor.strides ? tensor.strides[i] : stride;
    if (tensor.dims[i] != 1)
      axes.push_back({uint64_t(tensor.dims[i]), here, isChannel});
    stride *= tensor.dims[i];
  }
  std::sort(axes.begin(), axes.end(), [](const Axis &a, const Axis &b) {
    return a.distance() < b.distance();
  });
  std::vector<Axis> joined;
  for (const Axis &axis : axes) {
    int64_t end;
    if (!joined.empty() && !joined.back().isChannel && !axis.isChannel &&
        !__builtin_mul_overflow(joined.back().stride,
                                int64_t(joined.back().extent), &end) &&
        axis.stride == end)
      joined.back().extent *= axis.extent;
    else
      joined.push_back(axis);
  }
  return joined;
}

static bool isDense(const std::vector<Axis> &axes) {
  uint64_t expected = 1;
  for (const Axis &axis : axes) {
    if (axis.distance() != expected || (axis.isChannel && axis.stride < 0))
      return false;
    expected *= axis.extent;
  }
  return true;
}

bool mpopt::kernels::cuda::viewOf(const mpopt_tensor &tensor, View &view) {
  view = {};
  Shape &shape = view.shape;
  if (!shapeOf(tensor, shape))
    return false;
  view.dense = true;
  view.data = static_cast<const char *>(tensor.data);
  view.inner = std::max<uint64_t>(shape.count, 1);
  if (!shape.count || (shape.flags & MPOPT_COUNT_ONLY))
    return true;
  std::vector<Axis> axes = axesOf(tensor, shape);
  if (isDense(axes)) {
    for (const Axis &axis : axes) {
      if (axis.stride < 0)
        view.data += int64_t(axis.extent - 1) * axis.stride *
                     int64_t(bytesOf(tensor.dtype));
      if (axis.isChannel)
        view.inner = uint64_t(axis.stride);
    }
    return true;
  }
  view.dense = false;
  view.axes.channelAxis = -1;
  if (axes.size() > MPOPT_MAX_DIMS)
    return false;
  view.axes.rank = uint32_t(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    view.axes.extent[i] = Divider(axes[i].extent);
    view.axes.stride[i] = axes[i].stride;
    if (axes[i].isChannel)
      view.axes.channelAxis = int32_t(i);
  }
  return true;
}

/// A thread that takes every `stride`-th vector stays in its channels if as
/// many vectors are whole rounds of all channels.
DenseChannels mpopt::kernels::cuda::denseChannels(const View &view,
                                                  uint64_t threads,
                                                  ChannelKeys *keys) {
  uint64_t size = 16 / bytesOf(view.shape.dtype);
  DenseChannels channels = {Divider(view.inner), Divider(view.shape.channels),
                            keys, threads, false};
  uint64_t round;
  if (__builtin_mul_overflow(view.inner, uint64_t(view.shape.channels), &round))
    return channels;
  uint64_t vectors = round / std::gcd(round, size);
  if (vectors <= threads) {
    channels.stride = threads / vectors * vectors;
    channels.steady = true;
  }
  return channels;
}
