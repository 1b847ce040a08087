//===- Speed.cpp - The kernels beside a copy of the same bytes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device events around ten calls, medians of seven rounds, after a first one.
// The copy's bytes count twice, read and written; the kernel only reads.
//
//===----------------------------------------------------------------------===//

#include "../Cases.h"
#include "Check.h"

#include <chrono>
#include <cstdio>
#include <functional>

using namespace mpopt::kernels;
using namespace mpopt::kernels::device;
using namespace mpopt::kernels::test;

static constexpr int kCalls = 10, kRounds = 7;

namespace {

class Event {
public:
  Event() { MPOPT_CUDA(cudaEventCreate(&event)); }
  ~Event() { cudaEventDestroy(event); }
  operator cudaEvent_t() const { return event; }

private:
  cudaEvent_t event = nullptr;
};

struct Named {
  const char *name;
  uint32_t dtype;
};

struct Values {
  const char *name;
  double scale;
  bool relu;
  double mask; // of every other one; 0: none is masked
};

} // namespace

static const Named kDtypes[] = {{"f32", MPOPT_F32},
                                {"f16", MPOPT_F16},
                                {"bf16", MPOPT_BF16},
                                {"f64", MPOPT_F64},
                                {"e4m3", MPOPT_F8E4M3FN},
                                {"e5m2", MPOPT_F8E5M2},
                                {"e4m3fnuz", MPOPT_F8E4M3FNUZ},
                                {"e5m2fnuz", MPOPT_F8E5M2FNUZ},
                                {"i8", MPOPT_I8},
                                {"u8", MPOPT_U8},
                                {"bool", MPOPT_BOOL},
                                {"i16", MPOPT_I16},
                                {"u16", MPOPT_U16},
                                {"i32", MPOPT_I32},
                                {"u32", MPOPT_U32},
                                {"i64", MPOPT_I64},
                                {"u64", MPOPT_U64}};

/// All values of the last two are near thresholds of other formats.
static const Values kValues[] = {
    {"normal(0,1)", 1, false, 0},
    {"normal(0,.02)", .02, false, 0},
    {"relu(normal)", 1, true, 0},
    {"normal(0,100)", 100, false, 0},
    {"half -inf", 1, false, -kInf},
    {"half lowest", 1, false, -0x1.fffffffffffffp1023},
    {"normal(0,1e6)", 1e6, false, 0}};

/// Time of one call on the device, in seconds.
static double seconds(cudaStream_t stream, const std::function<void()> &call) {
  Event begin, end;
  std::vector<float> times;
  call();
  for (int round = 0; round < kRounds; ++round) {
    MPOPT_CUDA(cudaEventRecord(begin, stream));
    for (int i = 0; i < kCalls; ++i)
      call();
    MPOPT_CUDA(cudaEventRecord(end, stream));
    MPOPT_CUDA(cudaEventSynchronize(end));
    float milliseconds;
    MPOPT_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  return double(times[kRounds / 2]) / kCalls / 1e3;
}

/// The code of a value, rounded down. Where there is no Inf its code is that of
/// another number.
static uint64_t codeOf(double value, test::Layout layout) {
  int width = layout.exponentBits + layout.mantissaBits;
  uint64_t sign = uint64_t(std::signbit(value)) << width;
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return sign | ((1ull << layout.exponentBits) - 1) << layout.mantissaBits;
  int field = magnitude ? std::ilogb(magnitude) + layout.bias : 0;
  if (field <= 0)
    return sign;
  field = std::min(field, (1 << layout.exponentBits) - 2);
  double fraction = magnitude / std::ldexp(1, std::ilogb(magnitude)) - 1;
  return sign | uint64_t(field) << layout.mantissaBits |
         uint64_t(std::ldexp(fraction, layout.mantissaBits));
}

/// A pool of values again and again.
static std::vector<char> poolOf(uint32_t dtype, const Values &values) {
  constexpr size_t size = 1 << 20;
  if (!isFloat(dtype))
    return bytesFor(dtype, size, 1);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, values.scale);
  Data data{dtype, {}};
  for (size_t i = 0; i < size; ++i) {
    double value = normal(random);
    if (values.relu)
      value = std::max(value, 0.0);
    if (values.mask && random() % 2)
      value = values.mask;
    data.push(codeOf(value, layoutOf(dtype)));
  }
  return data.bytes;
}

static void fill(const Buffer &memory, size_t bytes,
                 const std::vector<char> &pool) {
  for (size_t at = 0; at < bytes; at += pool.size())
    MPOPT_CUDA(cudaMemcpy(memory.at(at), pool.data(),
                          std::min(pool.size(), bytes - at),
                          cudaMemcpyHostToDevice));
}

static void print(const char *dtype, const char *what, double bytes,
                  double seconds, double copy) {
  double speed = bytes / seconds / 1e9;
  std::printf("%-9s %-26s %9.1f us %8.0f GB/s %5.0f%%\n", dtype, what,
              seconds * 1e6, speed, 100 * speed / copy);
  std::fflush(stdout);
}

static double measureTensor(const Buffer &memory, uint32_t dtype,
                            const std::vector<int64_t> &dims,
                            const int64_t *strides, int32_t axis,
                            cudaStream_t stream) {
  Probed probed;
  mpopt_tensor tensor = {
      memory.at(0), dtype, uint32_t(dims.size()), dims.data(), strides,
      axis,         0};
  return seconds(stream, [&] { probed.observe(tensor, stream); });
}

/// Channels, and gaps, in the dtypes of networks.
static void measureViews(const Buffer &memory, size_t bytes, double copy,
                         cudaStream_t stream) {
  for (int i = 0; i < 5; ++i) {
    auto [name, dtype] = kDtypes[i];
    fill(memory, bytes, poolOf(dtype, kValues[0]));
    unsigned width = cuda::bytesOf(dtype);
    int64_t count = int64_t(bytes / width);
    auto whole = [&](const char *what, const std::vector<int64_t> &dims,
                     int axis) {
      int64_t elements = 1;
      for (int64_t dim : dims)
        elements *= dim;
      print(name, what, double(elements) * width,
            measureTensor(memory, dtype, dims, nullptr, axis, stream), copy);
    };
    whole("4096 channels, last", {count / 4096, 4096}, 1);
    whole("65536 channels, last", {count / 65536, 65536}, 1);
    whole("256 channels of 56 x 56", {count / 802816, 256, 56, 56}, 1);
    whole("4096 channels, first", {4096, count / 4096}, 0);
    std::vector<int64_t> half = {count / 8192, 4096}, strides = {8192, 1};
    print(name, "half of each row", double(bytes) / 2,
          measureTensor(memory, dtype, half, strides.data(), -1, stream), copy);
    print(name, "the same, with channels", double(bytes) / 2,
          measureTensor(memory, dtype, half, strides.data(), 1, stream), copy);
  }
}

/// Measures the fixed cost of a call: on the device, and for the caller.
static void measureSmall(const Buffer &memory, cudaStream_t stream) {
  std::printf(
      "small tensors of f16: on the device, the caller, switched off\n");
  for (int64_t count : {1, 4096, 65536, 1 << 20}) {
    Probed probed(/*ownRecorder=*/true);
    mpopt_tensor tensor = {memory.at(0), MPOPT_F16, 1, &count, nullptr, -1, 0};
    double device = seconds(stream, [&] { probed.observe(tensor, stream); });
    auto caller = [&] {
      constexpr int calls = 1000;
      MPOPT_CUDA(cudaStreamSynchronize(stream));
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i)
        probed.observe(tensor, stream);
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - begin;
      MPOPT_CUDA(cudaStreamSynchronize(stream));
      return time.count() / calls;
    };
    double on = caller();
    mpopt_recorder_enable(probed.recorder, 0);
    double off = caller();
    std::printf("%9lld %9.1f us %9.1f us %9.2f us\n",
                static_cast<long long>(count), device * 1e6, on * 1e6,
                off * 1e6);
  }
}

void device::measure(size_t bytes) {
  Stream stream;
  Buffer memory(bytes), other(bytes);
  fill(memory, bytes, poolOf(MPOPT_F32, kValues[0]));
  double copySeconds = seconds(stream, [&] {
    MPOPT_CUDA(cudaMemcpyAsync(other.at(0), memory.at(0), bytes,
                               cudaMemcpyDeviceToDevice, stream));
  });
  double copy = 2 * double(bytes) / copySeconds / 1e9;
  std::printf("copy of %zu MiB: %.0f GB/s read and written; shares are of it\n",
              bytes >> 20, copy);
  for (const Named &dtype : kDtypes)
    for (const Values &values : kValues) {
      if (!isFloat(dtype.dtype) && &values != kValues)
        continue;
      fill(memory, bytes, poolOf(dtype.dtype, values));
      std::vector<int64_t> dims = {int64_t(bytes / cuda::bytesOf(dtype.dtype))};
      print(
          dtype.name, isFloat(dtype.dtype) ? values.name : "any", double(bytes),
          measureTensor(memory, dtype.dtype, dims, nullptr, -1, stream), copy);
    }
  measureViews(memory, bytes, copy, stream);
  measureSmall(memory, stream);
}
