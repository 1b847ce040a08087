//===- CudaKernelTest.cpp - The CUDA kernels give the CPU's record
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels' own code, with its barriers, folds and tickets; what a thread
// does with its elements is tested in depth by the twin (CudaViewTest.cpp).
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "FakeCuda.h"
#include "mpopt/Kernels/Cuda.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mpopt::kernels;
using namespace mpopt::kernels::test;

namespace {

class CudaKernelTest : public testing::Test {
protected:
  void SetUp() override {
    fake::reset(1);
    path = testing::TempDir() + "mpopt-kernel-" + std::to_string(getpid());
    uint8_t ledger[32] = {10};
    recorder = mpopt_recorder_open(path.c_str(), ledger, "test");
    stream = fake::makeStream(0);
  }
  void TearDown() override {
    mpopt_recorder_close(recorder);
    std::filesystem::remove(path);
  }

  /// Two calls on a probe of its own.
  void compare(uint32_t dtype, size_t size, size_t first,
               const std::vector<int64_t> &dims, const int64_t *strides,
               int32_t axis) {
    SCOPED_TRACE("dtype " + std::to_string(dtype) + ", axis " +
                 std::to_string(axis));
    mpopt_cuda_probe *probe =
        mpopt_cuda_probe_create(recorder, ++id, MPOPT_VALUE);
    size_t channels = axis < 0 ? 0 : size_t(dims[size_t(axis)]);
    std::vector<mpopt_channel_range> ranges(channels, {kInf, -kInf}),
        got(channels);
    mpopt_record wanted, record;
    mpopt_record_init(&wanted, id, MPOPT_VALUE);
    wanted.flags = MPOPT_STEPS_COUNTED;
    for (uint64_t call = 0; call < 2; ++call) {
      std::vector<char> bytes = bytesFor(dtype, size + first, size + call);
      mpopt_tensor tensor = {bytes.data() + first * cuda::bytesOf(dtype),
                             dtype,
                             uint32_t(dims.size()),
                             dims.data(),
                             strides,
                             axis,
                             0};
      mpopt_record_observe(&wanted, channels ? ranges.data() : nullptr, &tensor,
                           call, nullptr);
      char *data =
          static_cast<char *>(fake::upload(0, bytes.data(), bytes.size()));
      tensor.data = data + first * cuda::bytesOf(dtype);
      ASSERT_EQ(mpopt_cuda_probe_observe(probe, &tensor, stream), 1);
    }
    mpopt_recorder_flush(recorder);
    ASSERT_TRUE(mpopt_recorder_read(recorder, id, MPOPT_VALUE, &record,
                                    got.data(), uint32_t(channels)));
    mpopt_cuda_probe_destroy(probe);
    // FP64's sums may overflow, at another place for another order.
    if (dtype != MPOPT_F64) {
      double squares = mpopt_exact_sum_value(&wanted.sum_squares);
      EXPECT_NEAR(mpopt_exact_sum_value(&record.sum_squares), squares,
                  0x1p-19 * squares);
      EXPECT_NEAR(mpopt_exact_sum_value(&record.sum),
                  mpopt_exact_sum_value(&wanted.sum),
                  0x1p-19 * std::sqrt(squares * double(size + 1)));
    }
    record.sum = wanted.sum;
    record.sum_squares = wanted.sum_squares;
    EXPECT_EQ(std::memcmp(&record, &wanted, sizeof(record)), 0);
    EXPECT_EQ(record.count, wanted.count);
    EXPECT_EQ(record.nan, wanted.nan);
    EXPECT_EQ(record.zero, wanted.zero);
    EXPECT_EQ(record.min, wanted.min);
    EXPECT_EQ(record.max, wanted.max);
    for (size_t i = 0; i < channels; ++i) {
      ASSERT_EQ(got[i].min, ranges[i].min) << "channel " << i;
      ASSERT_EQ(got[i].max, ranges[i].max) << "channel " << i;
    }
  }

  std::string path;
  mpopt_recorder *recorder;
  cudaStream_t stream;
  uint32_t id = 0;
};

} // namespace

TEST_F(CudaKernelTest, Dense) {
  for (uint32_t dtype : allDtypes()) {
    compare(dtype, 0, 0, {0}, nullptr, -1);
    compare(dtype, 37, 3, {37}, nullptr, -1);
    // Several blocks, each of which takes several rounds.
    if (isFloat(dtype) || dtype == MPOPT_I8)
      compare(dtype, 50001, 1, {50001}, nullptr, -1);
  }
}

TEST_F(CudaKernelTest, Channels) {
  for (uint32_t dtype : allDtypes()) {
    compare(dtype, 20 * 15 * 7, 5, {20, 15, 7}, nullptr, 1);
    // Rounds of channels that are more than all threads take at once.
    compare(dtype, 2 * 20000, 0, {2, 20000}, nullptr, 0);
  }
}

TEST_F(CudaKernelTest, Gaps) {
  for (uint32_t dtype : allDtypes()) {
    int64_t strides[] = {200, 2, 50};
    compare(dtype, 6000, 1, {30, 20, 3}, strides, -1);
    compare(dtype, 6000, 0, {30, 20, 3}, strides, 2);
  }
}

/// Strings and the like.
TEST_F(CudaKernelTest, CountAlone) {
  mpopt_cuda_probe *probe = mpopt_cuda_probe_create(recorder, 1, MPOPT_VALUE);
  int64_t dims[] = {3, 5};
  mpopt_tensor tensor = {nullptr, 8, 2, dims, nullptr, 1, 0};
  ASSERT_EQ(mpopt_cuda_probe_observe(probe, &tensor, stream), 1);
  mpopt_recorder_flush(recorder);
  mpopt_record record;
  ASSERT_TRUE(
      mpopt_recorder_read(recorder, 1, MPOPT_VALUE, &record, nullptr, 0));
  EXPECT_EQ(record.count, 15u);
  EXPECT_EQ(record.flags, uint32_t(MPOPT_COUNT_ONLY | MPOPT_STEPS_COUNTED));
  mpopt_cuda_probe_destroy(probe);
}
