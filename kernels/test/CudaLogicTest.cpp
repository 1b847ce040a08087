//===- CudaLogicTest.cpp - The CUDA logic gives the CPU's record
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTwin.h"
#include "Reference.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>

using namespace mpopt::kernels;
using namespace mpopt::kernels::test;
namespace cuda = mpopt::kernels::cuda;

namespace {

/// A probe on the "device", and the record that the CPU makes of the same
/// calls.
class Pair {
public:
  explicit Pair(uint32_t dtype) : dtype(dtype), slot(new cuda::Slot) {
    std::memset(static_cast<void *>(slot.get()), 0, sizeof(cuda::Slot));
    mpopt_record_init(&slot->record, 3, MPOPT_VALUE);
    cuda::clearScalars(slot->call);
    mpopt_record_init(&expected, 3, MPOPT_VALUE);
  }

  /// `skew` elements into 16-byte aligned memory.
  void observe(const Data &data, std::vector<int64_t> dims, size_t skew = 0) {
    size_t bytes = data.bytes.size() + skew * bytesOf(dtype);
    void *memory = std::aligned_alloc(16, (bytes + 31) / 16 * 16);
    char *at = static_cast<char *>(memory) + skew * bytesOf(dtype);
    std::copy(data.bytes.begin(), data.bytes.end(), at);
    cuda::Shape shape = {data.size(), dtype, uint32_t(dims.size()), {}};
    std::copy(dims.begin(), dims.end(), shape.dims);
    uint64_t step = cuda::stepOf(*slot, control);
    launch(at, shape);
    mpopt_tensor tensor = {at, dtype, shape.rank, dims.data(), nullptr, -1, 0};
    if (cuda::isTurn(control, step))
      mpopt_record_observe(&expected, nullptr, &tensor, step, nullptr);
    else
      ++expected.skipped;
    std::free(memory);
  }

  /// Integers, extremes and steps to the bit, sums within their error.
  void check() {
    SCOPED_TRACE("dtype " + std::to_string(dtype));
    mpopt_record got = slot->record, wanted = expected;
    if (dtype != MPOPT_F64) {
      double deviation = mpopt_exact_sum_value(&wanted.sum_squares);
      double unit = bytesOf(dtype) == 2 ? 0x1p-19 : 0x1p-40;
      EXPECT_NEAR(mpopt_exact_sum_value(&got.sum_squares), deviation,
                  unit * deviation);
      double magnitudes =
          std::sqrt(deviation * double(std::max<uint64_t>(1, got.count)));
      EXPECT_NEAR(mpopt_exact_sum_value(&got.sum),
                  mpopt_exact_sum_value(&wanted.sum), unit * magnitudes);
    }
    got.sum = wanted.sum;
    got.sum_squares = wanted.sum_squares;
    EXPECT_EQ(std::memcmp(&got, &wanted, sizeof(got)), 0);
    for (int bin = 0; bin < MPOPT_BINS; ++bin)
      ASSERT_EQ(got.histogram[bin], wanted.histogram[bin]) << "bin " << bin;
    EXPECT_EQ(got.min, wanted.min);
    EXPECT_EQ(got.max, wanted.max);
    EXPECT_EQ(got.min_nonzero, wanted.min_nonzero);
    EXPECT_EQ(got.zero, wanted.zero);
  }

  cuda::Control control = {1, 1, MPOPT_NEVER};

private:
  void launch(const void *data, const cuda::Shape &shape) {
    auto with = [&](auto decode) {
      cuda::KernelTwin<decltype(decode)>(3, 64).launch(*slot, control, data,
                                                       shape);
    };
    switch (dtype) {
    case MPOPT_F32:
      return with(DecodeF32());
    case MPOPT_F16:
      return with(DecodeF16());
    case MPOPT_BF16:
      return with(DecodeBF16());
    case MPOPT_F64:
      return with(cuda::DecodeF64());
    case MPOPT_F8E4M3FN:
      return with(DecodeE4M3FN());
    case MPOPT_F8E4M3FNUZ:
      return with(DecodeE4M3FNUZ());
    case MPOPT_F8E5M2:
      return with(DecodeE5M2());
    default:
      return with(DecodeE5M2FNUZ());
    }
  }

  uint32_t dtype;
  std::unique_ptr<cuda::Slot> slot;
  mpopt_record expected;
};

} // namespace

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
    for (int call = 0; call < 12; ++call) {
      pair.control.period = call < 6 ? 1 : 3;
      pair.control.enabled = call != 4;
      pair.control.step = call < 9 ? MPOPT_NEVER : uint64_t(30 - call);
      Data data = randomData(dtype, 100 + 20 * size_t(call % 4),
                             std::ldexp(1, call % 5 * 3 - 6), uint64_t(call));
      int64_t size = int64_t(data.size());
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
