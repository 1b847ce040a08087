//===- BlockTest.cpp - Vector code gives what plain code gives, to the bit
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Partial.h"
#include "Reference.h"

#include <gtest/gtest.h>
#include <memory>

using namespace mpopt::kernels;
using namespace mpopt::kernels::test;

static mpopt_record run(const DtypeKernel &kernel, const char *data,
                        size_t count) {
  auto partial = std::make_unique<Partial>();
  for (size_t at = 0; at < count; at += kernel.tile)
    kernel.block(data + at * kernel.bytes, std::min(kernel.tile, count - at),
                 *partial);
  partial->fold(kernel);
  mpopt_record record;
  mpopt_record_init(&record, 0, 0);
  partial->addTo(record);
  return record;
}

/// The kernels for vectors that this processor can run.
static std::vector<DtypeKernel> vectorKernels(uint32_t dtype) {
  std::vector<DtypeKernel> kernels;
#if defined(__x86_64__)
  if (processorIsa() >= Isa::Avx2)
    kernels.push_back(avx2Kernel(dtype));
  if (processorIsa() >= Isa::Avx512)
    kernels.push_back(avx512Kernel(dtype));
#endif
  std::erase_if(kernels,
                [](const DtypeKernel &kernel) { return !kernel.block; });
  return kernels;
}

static void compare(uint32_t dtype, const Data &data, size_t from,
                    size_t count) {
  DtypeKernel plain = portableKernel(dtype);
  // At an address that no vector is aligned to.
  std::vector<char> moved(data.bytes.size() + 1);
  std::copy(data.bytes.begin(), data.bytes.end(), moved.begin() + 1);
  size_t offset = from * plain.bytes;
  mpopt_record expected = run(plain, data.bytes.data() + offset, count);
  for (const DtypeKernel &vector : vectorKernels(dtype)) {
    mpopt_record got = run(vector, moved.data() + 1 + offset, count);
    EXPECT_EQ(std::memcmp(&expected, &got, sizeof(got)), 0)
        << "dtype " << dtype << ", " << count << " elements from " << from;
  }
}

TEST(BlockTest, VectorsAgreeWithPlainCode) {
  for (uint32_t dtype : floatDtypes())
    for (double scale : {1.0, 0.02, 1e-5, 400.0, 1e-22, 1e22, 1e-40}) {
      Data data = randomData(dtype, kTile + 3 * kBlock, scale, dtype);
      compare(dtype, data, 0, data.size());
      for (size_t count : {0, 1, 2, 15, 31, 127, 128, 129, 160, 511, 4095, 4097,
                           4200, 16383, 16384, 16500})
        compare(dtype, data, 1, count);
    }
}

/// Any bit pattern: all exponents, a third of the blocks' elements not finite.
TEST(BlockTest, VectorsAgreeOnAnyBits) {
  std::mt19937_64 random(5);
  for (uint32_t dtype : floatDtypes()) {
    Data data{dtype, {}};
    while (data.size() < 2 * kTile)
      data.push(random());
    compare(dtype, data, 0, data.size());
  }
}

/// Values change from block to block, so that what is remembered is wrong.
TEST(BlockTest, VectorsAgreeWhenValuesMove) {
  for (uint32_t dtype : floatDtypes()) {
    Data data{dtype, {}};
    for (double scale : {1.0, 1e-4, 1e4, 1e-4, 1.0, 1e-7}) {
      Data part = randomData(dtype, kBlock, scale, 9);
      data.bytes.insert(data.bytes.end(), part.bytes.begin(), part.bytes.end());
    }
    Data zeros{dtype, std::vector<char>(kBlock * bytesOf(dtype))};
    data.bytes.insert(data.bytes.end(), zeros.bytes.begin(), zeros.bytes.end());
    compare(dtype, data, 0, data.size());
  }
}

/// Magnitudes over more and more binary orders, zeros among them, and one that
/// is far above all others.
TEST(BlockTest, VectorsAgreeWhenValuesSpread) {
  for (uint32_t dtype : floatDtypes())
    for (double spread : {3.0, 8.0, 12.0, 20.0, 60.0})
      for (bool outlier : {false, true}) {
        Data data{dtype, {}};
        Layout layout = layoutOf(dtype);
        int most = (1 << layout.exponentBits) - 2;
        std::mt19937_64 random(7);
        std::normal_distribution<double> order(most - 40, spread);
        for (size_t i = 0; i < kTile + 700; ++i) {
          int field = std::clamp(int(order(random)), 0, most);
          uint64_t mantissa = random() % 4 ? random() : 0;
          data.push(i % 5 ? uint64_t(field) << layout.mantissaBits |
                                mantissa >> (64 - layout.mantissaBits)
                          : 0);
        }
        if (outlier)
          data.push(uint64_t(most) << layout.mantissaBits);
        compare(dtype, data, 0, data.size());
        for (size_t count : {128, 300, 1000})
          compare(dtype, data, data.size() - count, count);
      }
}

/// Values exactly at the edges of formats: none, one, a few and many in a tile,
/// alone and beside others of their binary order.
TEST(BlockTest, VectorsAgreeAtTheEdges) {
  for (float edge : {0x1p-10f, 0x1p-17f, 0x1p-25f, 0x1p-126f, 448.f, 464.f,
                     57344.f, 61440.f, 65504.f, 65520.f})
    for (size_t every : {size_t(7), size_t(100), size_t(3000), 2 * kTile})
      for (double beside : {1.2, 1e-3, 0.0}) {
        Data data = randomData(MPOPT_F32, kTile + 300, 1, 3);
        for (size_t i = 0; i < data.size(); ++i) {
          float value;
          std::memcpy(&value, &data.bytes[4 * i], 4);
          value = i % every == every / 2 ? (i % 2 ? -edge : edge)
                                         : float(value * beside) * edge;
          std::memcpy(&data.bytes[4 * i], &value, 4);
        }
        for (size_t count :
             {size_t(128), size_t(250), size_t(300), data.size()})
          compare(MPOPT_F32, data, 0, count);
      }
}
