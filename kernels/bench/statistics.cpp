//===- statistics.cpp - The statistics beside a plain maximum
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints GB/s over tensors that no cache holds, best of several runs, taken in
// turns with a maximum of the same bits on as many threads. Processor time,
// spread over the threads, so that what else runs on the machine counts little.
//
//   mpopt-bench-statistics [MIB]
//
//===----------------------------------------------------------------------===//

#include "mpopt/Kernels/Statistics.h"
#include "../lib/Threads.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <immintrin.h>
#include <random>
#include <vector>

using namespace mpopt::kernels;

static constexpr int kRuns = 7;
static volatile uint32_t sink;

static double seconds(const std::function<void()> &work) {
  std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC / threadCount();
}

/// The largest magnitude of 32-bit (or two 16-bit, or four 8-bit) patterns:
/// what a maximum costs at least.
static uint32_t plainMax(const char *bytes, size_t size, unsigned width) {
  __m256i mask = width == 4   ? _mm256_set1_epi32(0x7FFFFFFF)
                 : width == 2 ? _mm256_set1_epi16(0x7FFF)
                              : _mm256_set1_epi8(0x7F);
  __m256i most[4] = {};
  for (size_t at = 0; at + 128 <= size; at += 128)
    for (int i = 0; i < 4; ++i) {
      __m256i word = _mm256_loadu_si256(
          reinterpret_cast<const __m256i *>(bytes + at + 32 * i));
      word = _mm256_and_si256(word, mask);
      most[i] = width == 4   ? _mm256_max_epu32(most[i], word)
                : width == 2 ? _mm256_max_epu16(most[i], word)
                             : _mm256_max_epu8(most[i], word);
    }
  uint32_t lanes[8], all = 0;
  for (__m256i one : most) {
    std::memcpy(lanes, &one, sizeof(lanes));
    for (uint32_t lane : lanes)
      all = std::max(all, lane);
  }
  return all;
}

struct Slices {
  const std::vector<char> &data;
  unsigned width;
};

static void maxTask(void *data, size_t index) {
  const Slices &slices = *static_cast<Slices *>(data);
  size_t size = slices.data.size() / threadCount();
  sink = plainMax(slices.data.data() + index * size, size, slices.width);
}

static void store(std::vector<char> &data, size_t i, uint32_t dtype,
                  double value) {
  float narrow = float(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  uint16_t half = uint16_t(_cvtss_sh(narrow, 0));
  uint16_t brain = uint16_t(bits >> 16);
  switch (dtype) {
  case MPOPT_F32:
    std::memcpy(&data[4 * i], &narrow, 4);
    break;
  case MPOPT_F64:
    std::memcpy(&data[8 * i], &value, 8);
    break;
  case MPOPT_F16:
    std::memcpy(&data[2 * i], &half, 2);
    break;
  case MPOPT_BF16:
    std::memcpy(&data[2 * i], &brain, 2);
    break;
  case MPOPT_F8E5M2:
    data[i] = char(half >> 8);
    break;
  default: // E4M3: the FP16 of value / 2^8 has its bits
    half = uint16_t(_cvtss_sh(narrow / 256, 0));
    data[i] = char((half >> 7 & 0x7F) | (half >> 8 & 0x80));
  }
}

int main(int argc, char **argv) {
  size_t size = size_t(argc > 1 ? std::atoi(argv[1]) : 256) << 20;
  struct {
    const char *name;
    uint32_t dtype;
    unsigned width;
  } dtypes[] = {{"f32", MPOPT_F32, 4},       {"f16", MPOPT_F16, 2},
                {"bf16", MPOPT_BF16, 2},     {"f64", MPOPT_F64, 8},
                {"e4m3", MPOPT_F8E4M3FN, 1}, {"e5m2", MPOPT_F8E5M2, 1}};
  struct {
    const char *name;
    double scale;
    bool relu, masked;
  } shapes[] = {{"normal(0,1)", 1, false, false},
                {"normal(0,.02)", .02, false, false},
                {"relu(normal)", 1, true, false},
                {"normal(0,100)", 100, false, false},
                {"half -inf", 1, false, true}};
  std::printf("%s, %u threads, %zu MiB\n", mpopt_statistics_isa(),
              threadCount(), size >> 20);
  std::printf("%-6s %-14s %10s %10s %7s\n", "dtype", "values", "max GB/s",
              "record", "share");
  for (auto &dtype : dtypes)
    for (auto &shape : shapes) {
      std::vector<char> data(size);
      std::mt19937 random(1);
      std::normal_distribution<double> normal;
      std::vector<double> pool(1 << 18);
      for (double &value : pool) {
        value = normal(random) * shape.scale;
        if (shape.relu)
          value = std::max(value, 0.0);
        if (shape.masked && random() % 2)
          value = -INFINITY;
      }
      int64_t count = int64_t(size / dtype.width);
      for (int64_t i = 0; i < count; ++i)
        store(data, size_t(i), dtype.dtype, pool[size_t(i) % pool.size()]);
      mpopt_tensor tensor = {data.data(), dtype.dtype, 1, &count,
                             nullptr,     -1,          0};
      double plain = 1e9, record = 1e9;
      for (int run = 0; run < kRuns; ++run) {
        plain = std::min(plain, seconds([&] {
                           Slices slices{data, std::min(dtype.width, 4u)};
                           runTasks(threadCount(), maxTask, &slices);
                         }));
        record = std::min(record, seconds([&] {
                            mpopt_record made;
                            mpopt_record_init(&made, 0, 0);
                            mpopt_record_observe(&made, nullptr, &tensor, 0,
                                                 nullptr);
                            sink = uint32_t(made.zero);
                          }));
      }
      std::printf("%-6s %-14s %10.1f %10.1f %6.0f%%\n", dtype.name, shape.name,
                  double(size) / plain / 1e9, double(size) / record / 1e9,
                  100 * plain / record);
      std::fflush(stdout);
    }
}
