//===- Channels.cpp - Ranges per channel
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Channels.h"
#include "Partial.h"

#include <algorithm>
#include <cfloat>
#include <cstring>

using namespace mpopt::kernels;

Channels mpopt::kernels::channelsOf(const mpopt_tensor &tensor) {
  Channels channels;
  uint32_t axis = uint32_t(tensor.channel_axis);
  if (tensor.channel_axis < 0 || axis >= tensor.rank)
    return channels;
  for (uint32_t i = axis + 1; i < tensor.rank; ++i)
    channels.inner *= uint64_t(tensor.dims[i]);
  channels.count = uint32_t(
      std::min<int64_t>(tensor.dims[axis], int64_t(MPOPT_MAX_CHANNELS) + 1));
  return channels;
}

template <class Decode>
static void decodeWords(const void *words, size_t count, double *values) {
  for (size_t i = 0; i < count; ++i) {
    typename Decode::Word word;
    std::memcpy(&word, static_cast<const char *>(words) + i * sizeof(word),
                sizeof(word));
    uint32_t bits = Decode::decode(word);
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    values[i] = value;
  }
}

template <class T>
static void convertWords(const void *words, size_t count, double *values) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, static_cast<const char *>(words) + i * sizeof(T),
                sizeof(T));
    values[i] = double(value);
  }
}

static void toDoubles(const void *words, uint32_t dtype, size_t count,
                      double *values) {
  switch (dtype) {
  case MPOPT_F32:
    return convertWords<float>(words, count, values);
  case MPOPT_F64:
    return convertWords<double>(words, count, values);
  case MPOPT_F16:
    return decodeWords<DecodeF16>(words, count, values);
  case MPOPT_BF16:
    return decodeWords<DecodeBF16>(words, count, values);
  case MPOPT_F8E4M3FN:
    return decodeWords<DecodeE4M3FN>(words, count, values);
  case MPOPT_F8E4M3FNUZ:
    return decodeWords<DecodeE4M3FNUZ>(words, count, values);
  case MPOPT_F8E5M2:
    return decodeWords<DecodeE5M2>(words, count, values);
  case MPOPT_F8E5M2FNUZ:
    return decodeWords<DecodeE5M2FNUZ>(words, count, values);
  case MPOPT_I8:
    return convertWords<int8_t>(words, count, values);
  case MPOPT_U16:
    return convertWords<uint16_t>(words, count, values);
  case MPOPT_I16:
    return convertWords<int16_t>(words, count, values);
  case MPOPT_U32:
    return convertWords<uint32_t>(words, count, values);
  case MPOPT_I32:
    return convertWords<int32_t>(words, count, values);
  case MPOPT_U64:
    return convertWords<uint64_t>(words, count, values);
  case MPOPT_I64:
    return convertWords<int64_t>(words, count, values);
  default:
    return convertWords<uint8_t>(words, count, values);
  }
}

/// Comparisons with NaN are false, so it changes nothing.
static void widen(mpopt_channel_range &range, double value) {
  if (value >= -DBL_MAX && value < range.min)
    range.min = value + 0.0;
  if (value <= DBL_MAX && value > range.max)
    range.max = value + 0.0;
}

void mpopt::kernels::widenChannels(const void *words, uint32_t dtype,
                                   uint64_t from, size_t count,
                                   Channels channels,
                                   mpopt_channel_range *ranges) {
  double values[kBlock];
  toDoubles(words, dtype, count, values);
  uint64_t channel = from / channels.inner % channels.count;
  uint64_t left = channels.inner - from % channels.inner;
  for (size_t i = 0; i < count;) {
    size_t run = std::min<uint64_t>(left, count - i);
    mpopt_channel_range range = ranges[channel];
    for (size_t end = i + run; i < end; ++i)
      widen(range, values[i]);
    ranges[channel] = range;
    left = channels.inner;
    channel = channel + 1 == channels.count ? 0 : channel + 1;
  }
}
