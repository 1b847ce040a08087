//===- CudaLogicTest.cpp - The CUDA logic gives the CPU's record
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CudaPair.h"

#include <gtest/gtest.h>

using namespace mpopt::kernels;
using namespace mpopt::kernels::test;

TEST(CudaLogicTest, ValuesAsTensorsHaveThem) {
  for (uint32_t dtype : floatDtypes())
    for (double scale : {1.0, 0.02, 1e-6, 400.0, 3e4, 1e-22, 1e25}) {
      Pair pair(dtype);
      Data data = randomData(dtype, 5000, scale, dtype);
      pair.observe(data, {50, 100});
      pair.check();
    }
}

TEST(CudaLogicTest, EveryValueOfNarrowDtypes) {
  for (uint32_t dtype : floatDtypes()) {
    if (bytesOf(dtype) > 2)
      continue;
    Pair pair(dtype);
    Data data{dtype, {}};
    for (uint64_t code = 0; code < 1ull << (8 * bytesOf(dtype)); ++code)
      data.push(code);
    pair.observe(data, {int64_t(data.size())});
    pair.check();
  }
}

TEST(CudaLogicTest, AnyBits) {
  std::mt19937_64 random(8);
  for (uint32_t dtype : floatDtypes()) {
    Pair pair(dtype);
    Data data{dtype, {}};
    while (data.size() < 10000)
      data.push(random());
    pair.observe(data, {10000});
    pair.check();
  }
}

/// Only one sign, zeros, constants: where extremes come from other fields.
TEST(CudaLogicTest, OneSidedValues) {
  for (uint32_t dtype : floatDtypes()) {
    Layout layout = layoutOf(dtype);
    uint64_t sign = 1ull << (layout.exponentBits + layout.mantissaBits);
    uint64_t one = uint64_t(layout.bias) << layout.mantissaBits;
    for (std::vector<uint64_t> codes : {std::vector<uint64_t>{one},
                                        {sign | one},
                                        {0},
                                        {sign},
                                        {one, one + 1},
                                        {sign | one, (sign | one) + 1},
                                        {one, 0},
                                        {sign | one, 0},
                                        {sign | one, sign},
                                        {one - 1, 0, sign, one}}) {
      Pair pair(dtype);
      Data data{dtype, {}};
      for (int i = 0; i < 1000; ++i)
        data.push(codes[size_t(i) % codes.size()]);
      pair.observe(data, {1000});
      pair.check();
    }
  }
}

TEST(CudaLogicTest, AlignmentAndSize) {
  for (uint32_t dtype : floatDtypes())
    for (size_t size : {0, 1, 2, 7, 15, 16, 17, 200})
      for (size_t skew : {0, 1, 3, 7}) {
        Pair pair(dtype);
        pair.observe(randomData(dtype, size, 1, size), {int64_t(size)}, skew);
        pair.check();
      }
}

TEST(CudaLogicTest, ManyCalls) {
  for (uint32_t dtype : floatDtypes()) {
    Pair pair(dtype);
    for (uint64_t call = 0; call < 12; ++call) {
      Data data = randomData(dtype, 100 + 20 * size_t(call % 4),
                             std::ldexp(1, int(call % 5) * 3 - 6), call);
      int64_t size = int64_t(data.size());
      pair.step = call < 9 ? call : 30 - call;
      pair.observe(data, call % 3 ? std::vector<int64_t>{size}
                                  : std::vector<int64_t>{2, size / 2});
      pair.check();
    }
  }
}

/// The kernel's own copy of the edges.
TEST(CudaLogicTest, EdgesAreTheHosts) {
  for (int format = 0; format < MPOPT_FORMATS; ++format) {
    mpopt_format_edges edges = mpopt_format_edges_of(format);
    EXPECT_EQ(cuda::doubleOf(cuda::notFiniteFrom(format)),
              edges.not_finite_from);
    EXPECT_EQ(cuda::doubleOf(cuda::zeroAt(format)), edges.zero_at);
  }
}
