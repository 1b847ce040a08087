//===- MergeTest.cpp - Records merge in any order to the same bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reference.h"

#include <gtest/gtest.h>

using namespace mpopt::kernels::test;

static mpopt_record recordOf(const Data &data, uint64_t step,
                             std::vector<int64_t> dims = {}) {
  if (dims.empty())
    dims = {int64_t(data.size())};
  mpopt_record record;
  mpopt_record_init(&record, 1, MPOPT_VALUE);
  mpopt_tensor tensor = {data.bytes.data(),
                         data.dtype,
                         uint32_t(dims.size()),
                         dims.data(),
                         nullptr,
                         -1,
                         0};
  EXPECT_TRUE(mpopt_record_observe(&record, nullptr, &tensor, step, nullptr));
  return record;
}

TEST(MergeTest, AnyOrder) {
  std::vector<mpopt_record> parts;
  for (int i = 0; i < 12; ++i)
    parts.push_back(recordOf(
        randomData(i % 3 ? MPOPT_F32 : MPOPT_F16, 500 + 100 * size_t(i % 2),
                   std::ldexp(1, i - 6), uint64_t(i)),
        uint64_t(i * 7 % 12),
        i % 2 ? std::vector<int64_t>{6, 100} : std::vector<int64_t>{500}));
  mpopt_record empty;
  mpopt_record_init(&empty, 1, MPOPT_VALUE);
  parts.push_back(empty);
  std::mt19937 random(3);
  mpopt_record first;
  for (int round = 0; round < 30; ++round) {
    // As a tree: pairs in random order until one is left.
    std::vector<mpopt_record> left = parts;
    std::shuffle(left.begin(), left.end(), random);
    while (left.size() > 1) {
      size_t into = random() % (left.size() - 1);
      ASSERT_TRUE(mpopt_record_merge(&left[into], &left.back()));
      left.pop_back();
    }
    if (round == 0)
      first = left[0];
    EXPECT_EQ(std::memcmp(&first, &left[0], sizeof(first)), 0);
  }
  EXPECT_EQ(first.calls, 12u);
  EXPECT_EQ(first.first_step, 0u);
  EXPECT_EQ(first.last_step, 11u);
  EXPECT_EQ(first.flags, uint32_t(MPOPT_MIXED_DTYPE | MPOPT_MIXED_RANK));
  // The narrower one, since overflow and flushing are those of FP16.
  EXPECT_EQ(first.dtype, uint32_t(MPOPT_F16));
}

TEST(MergeTest, NarrowestDtype) {
  mpopt_record wide = recordOf({MPOPT_F64, {}}, 0, {}),
               single = recordOf({MPOPT_F32, {}}, 1, {}),
               half = recordOf({MPOPT_BF16, {}}, 2, {});
  ASSERT_TRUE(mpopt_record_merge(&wide, &single));
  EXPECT_EQ(wide.dtype, uint32_t(MPOPT_F32));
  ASSERT_TRUE(mpopt_record_merge(&wide, &half));
  EXPECT_EQ(wide.dtype, uint32_t(MPOPT_BF16));
}

TEST(MergeTest, StepsOfEvents) {
  Data clean{MPOPT_F32, {}}, nan = clean, big = clean;
  clean.push(0x3F800000);
  nan.push(0x7FC00000);
  big.push(0x7F000000);
  mpopt_record record = recordOf(clean, 5);
  for (auto &[data, step] :
       {std::pair{&nan, 9}, {&big, 7}, {&nan, 6}, {&big, 8}}) {
    mpopt_record other = recordOf(*data, uint64_t(step));
    ASSERT_TRUE(mpopt_record_merge(&record, &other));
  }
  EXPECT_EQ(record.first_step, 5u);
  EXPECT_EQ(record.last_step, 9u);
  EXPECT_EQ(record.first_nan_step, 6u);
  EXPECT_EQ(record.first_inf_step, MPOPT_NEVER);
  EXPECT_EQ(record.absmax_step, 7u);
  EXPECT_EQ(record.min_nonzero_step, 5u);
  EXPECT_EQ(record.first_overflow_step[MPOPT_TO_F16], 7u);
  EXPECT_EQ(record.first_overflow_step[MPOPT_TO_BF16], MPOPT_NEVER);
}

/// If one call has no shape, the merged record has none, in any order.
TEST(MergeTest, CallsWithoutAShape) {
  Data data{MPOPT_F32, {}};
  data.push(0x3F800000);
  mpopt_record parts[] = {recordOf(data, 0, {1}), recordOf(data, 1, {1, 1}),
                          recordOf(data, 2)};
  parts[2].flags |= MPOPT_NO_SHAPE | MPOPT_NO_DISTRIBUTION;
  parts[2].rank = 0;
  parts[2].dim_min[0] = parts[2].dim_max[0] = 0;
  int order[] = {0, 1, 2};
  mpopt_record first;
  do {
    mpopt_record all;
    mpopt_record_init(&all, 1, MPOPT_VALUE);
    for (int part : order)
      ASSERT_TRUE(mpopt_record_merge(&all, &parts[part]));
    if (order[0] == 0 && order[1] == 1)
      first = all;
    EXPECT_EQ(std::memcmp(&first, &all, sizeof(all)), 0);
  } while (std::next_permutation(std::begin(order), std::end(order)));
  EXPECT_EQ(first.flags, uint32_t(MPOPT_NO_SHAPE | MPOPT_NO_DISTRIBUTION));
  EXPECT_EQ(first.rank, 0u);
  EXPECT_EQ(first.dim_max[0], 0);
}

TEST(MergeTest, DifferentProbesAreRefused) {
  mpopt_record a, b;
  mpopt_record_init(&a, 1, MPOPT_VALUE);
  mpopt_record_init(&b, 2, MPOPT_VALUE);
  EXPECT_FALSE(mpopt_record_merge(&a, &b));
  mpopt_record_init(&b, 1, MPOPT_GRADIENT);
  EXPECT_FALSE(mpopt_record_merge(&a, &b));
  mpopt_record_init(&b, 1, MPOPT_VALUE);
  b.version = 2;
  EXPECT_FALSE(mpopt_record_merge(&a, &b));
}

TEST(MergeTest, MeanAndDeviation) {
  Data data{MPOPT_F32, {}};
  for (uint32_t code : {0x3F800000u, 0x40000000u, 0x40400000u, 0x7F800000u})
    data.push(code);
  mpopt_record record = recordOf(data, 0);
  EXPECT_EQ(mpopt_record_mean(&record), 2);
  EXPECT_DOUBLE_EQ(mpopt_record_stddev(&record), std::sqrt(2.0 / 3));
  mpopt_record_init(&record, 0, 0);
  EXPECT_TRUE(std::isnan(mpopt_record_mean(&record)));
}
