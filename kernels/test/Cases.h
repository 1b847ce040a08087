//===- Cases.h - Tensors that both the twin and the device read
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_TEST_CASES_H
#define MPOPT_KERNELS_TEST_CASES_H

#include "../cuda/View.h"
#include "Reference.h"

namespace mpopt::kernels::test {

inline const std::vector<uint32_t> &integerDtypes() {
  static const std::vector<uint32_t> all = {MPOPT_U8,  MPOPT_I8,  MPOPT_U16,
                                            MPOPT_I16, MPOPT_I32, MPOPT_I64,
                                            MPOPT_U32, MPOPT_U64, MPOPT_BOOL};
  return all;
}

inline std::vector<uint32_t> allDtypes() {
  std::vector<uint32_t> all = floatDtypes();
  all.insert(all.end(), integerDtypes().begin(), integerDtypes().end());
  return all;
}

inline bool isFloat(uint32_t dtype) {
  const auto &floats = floatDtypes();
  return std::find(floats.begin(), floats.end(), dtype) != floats.end();
}

/// Values as tensors have them, or any integers with many small ones.
inline std::vector<char> bytesFor(uint32_t dtype, size_t size, uint64_t seed,
                                  double scale = 1) {
  if (isFloat(dtype))
    return randomData(dtype, size, scale, seed).bytes;
  std::vector<char> bytes;
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < size; ++i) {
    uint64_t bits = random(), value = bits;
    if (bits % 4 == 0)
      value = bits >> 8 & 3;
    if (dtype == MPOPT_BOOL)
      value &= 1;
    const char *from = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), from, from + cuda::bytesOf(dtype));
  }
  return bytes;
}

/// A view of 60 x 70 x 8 elements in memory.
struct ViewCase {
  std::vector<int64_t> dims, strides;
  size_t first;
  bool dense;
};
constexpr size_t kViewElements = 60 * 70 * 8;

inline const std::vector<ViewCase> &viewCases() {
  static const std::vector<ViewCase> all = {
      {{60, 70, 8}, {560, 8, 1}, 0, true},        // as it lies
      {{70, 60, 8}, {8, 560, 1}, 0, true},        // permuted
      {{8, 70, 60}, {1, 8, 560}, 0, true},        // reversed axes
      {{60, 1, 70, 8}, {560, 3, 8, 1}, 0, true},  // a stride of no matter
      {{60, 35, 8}, {560, 16, 1}, 8, false},      // every other row
      {{60, 70, 4}, {560, 8, 2}, 1, false},       // every other element
      {{5, 4200}, {0, 8}, 3, false},              // expanded
      {{3, 60, 70, 8}, {0, 560, 8, 1}, 0, false}, // a batch of the same
      {{1, 33600}, {7, 1}, 0, true},
      {{30, 2, 7, 10, 2, 2, 2}, {1120, 560, 80, 8, 4, 2, 1}, 0, true},
      {{30, 7, 5, 2, 2}, {1120, 80, 16, 4, 1}, 3, false},
      {{10, 10}, {1, 1}, 0, false},             // elements of several indices
      {{60, 70, 8}, {-560, 8, 1}, 33040, true}, // backwards
      {{60, 70, 8}, {560, 8, -1}, 7, true},
  };
  return all;
}

} // namespace mpopt::kernels::test

#endif // MPOPT_KERNELS_TEST_CASES_H
