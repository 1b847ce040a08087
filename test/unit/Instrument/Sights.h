//===- Sights.h - Records of given values, for tests ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TEST_UNIT_INSTRUMENT_SIGHTS_H
#define MPOPT_TEST_UNIT_INSTRUMENT_SIGHTS_H

#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Kernels/Statistics.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace mpopt::testing {

inline void observe(ProbeSight &sight, const void *data, size_t count,
                    uint32_t dtype, uint64_t step) {
  auto extent = int64_t(count);
  mpopt_tensor tensor = {data, dtype, 1, &extent, nullptr, -1, 0};
  (void)mpopt_record_observe(&sight.record, nullptr, &tensor, step, nullptr);
  sight.record.flags |= MPOPT_STEPS_SHARED;
}

inline ProbeSight unseen() {
  ProbeSight sight;
  mpopt_record_init(&sight.record, 0, MPOPT_VALUE);
  return sight;
}

inline ProbeSight seeF32(std::initializer_list<float> values,
                         uint64_t step = 0) {
  ProbeSight sight = unseen();
  observe(sight, values.begin(), values.size(), MPOPT_F32, step);
  return sight;
}

/// As statistics by standard ops tell of FP32 values: counts and extremes.
inline ProbeSight seeOutputs(std::initializer_list<float> values,
                             uint64_t step = 0) {
  ProbeSight sight = seeF32(values, step);
  mpopt_record &record = sight.record;
  record.flags |= MPOPT_NO_DISTRIBUTION | MPOPT_NO_SHAPE;
  for (int format = 0; format < MPOPT_FORMATS; ++format) {
    mpopt_format_counts counts = mpopt_record_format(&record, format);
    record.edge[format] = {counts.not_finite, counts.not_finite,
                           counts.rounds_to_zero};
  }
  record.edge[MPOPT_TO_F32] = {};
  std::fill_n(record.histogram, MPOPT_BINS, 0);
  record.sum = record.sum_squares = {};
  record.rank = 0;
  std::fill_n(record.dim_min, MPOPT_MAX_DIMS, 0);
  std::fill_n(record.dim_max, MPOPT_MAX_DIMS, 0);
  return sight;
}

/// Bits of FP16 values.
inline ProbeSight seeF16(std::initializer_list<uint16_t> bits,
                         uint64_t step = 0) {
  ProbeSight sight = unseen();
  observe(sight, bits.begin(), bits.size(), MPOPT_F16, step);
  return sight;
}

inline ProbeSight seeI64(std::initializer_list<int64_t> values) {
  ProbeSight sight = unseen();
  observe(sight, values.begin(), values.size(), MPOPT_I64, 0);
  return sight;
}

} // namespace mpopt::testing

#endif // MPOPT_TEST_UNIT_INSTRUMENT_SIGHTS_H
