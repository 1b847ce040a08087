//===- Partial.h - What one worker has counted so far --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to one worker, so nothing here is shared while a tensor is read. The
// tables are in the form in which a kernel counts fastest; fold() turns them
// into the record's bins.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_PARTIAL_H
#define MPOPT_KERNELS_LIB_PARTIAL_H

#include "Sums.h"

namespace mpopt::kernels {

struct DtypeKernel;

struct Partial {
  uint64_t nan = 0, posInf = 0, negInf = 0, zero = 0;
  /// Over finite values; the sign of a zero does not matter.
  double min = __builtin_inf(), max = -__builtin_inf();
  double minNonzero = __builtin_inf();
  uint64_t histogram[MPOPT_BINS] = {};
  mpopt_edge edge[MPOPT_FORMATS] = {};
  mpopt_exact_sum sum = {}, sumSquares = {};

  /// Normal finite values by FP32 exponent field; 0 and 255 are not kept here.
  uint64_t fields[256] = {};
  /// 8-bit dtypes by code, FP64 by exponent field: interleaved copies, so that
  /// runs of one value do not wait for each other's stores.
  uint32_t codes[4][256] = {};
  uint32_t wideFields[2][2048] = {};
  /// Elements in `codes` or `wideFields` since the last fold.
  uint64_t unfolded = 0;

  /// Memory of vector code about the last block, to choose how it scans the
  /// next one: whether there was Inf or NaN.
  bool special = false;

  void widen(double low, double high) {
    min = low < min ? low : min;
    max = high > max ? high : max;
  }
  void widenNonzero(double magnitude) {
    minNonzero = magnitude < minNonzero ? magnitude : minNonzero;
  }

  /// A finite non-zero magnitude, `times` times.
  template <class Bits>
  void countMagnitude(Bits magnitude, uint64_t times = 1) {
    histogram[binOf(magnitude)] += times;
    countEdges(magnitude, times);
  }

  template <class Bits> void countEdges(Bits magnitude, uint64_t times = 1) {
    edgesOf(magnitude, [&](int format, EdgeKind kind) {
      mpopt_edge &to = edge[format];
      (kind == BeyondMax   ? to.beyond_max
       : kind == NotFinite ? to.not_finite
                           : to.rounds_to_zero) += times;
    });
  }

  /// Moves the tables, of elements that the kernel counted, into the bins.
  void fold(const DtypeKernel &kernel);

  /// As new, but for the tables that fold() leaves empty.
  void reset();

  /// Adds to a record that holds the same call.
  void addTo(mpopt_record &record) const;
};

/// Counts `count` elements, at most `tile` of them, whose first one is the
/// first of a block.
using BlockKernel = void (*)(const void *data, size_t count, Partial &partial);

struct DtypeKernel {
  BlockKernel block = nullptr; // null: only the number of elements counts
  unsigned bytes = 0;          // of an element
  bool isFloat = false;
  /// The FP32 bits of a code of 8 bits; null for other dtypes.
  uint32_t (*decodeCode)(uint8_t) = nullptr;
  size_t tile = kBlock;
};

/// The best one for this processor, or the best that MPOPT_ISA names.
DtypeKernel dtypeKernel(uint32_t dtype);
/// Instruction sets of this processor.
enum class Isa { Portable, Avx2, Avx512 };
Isa processorIsa();
/// The processor's, or what MPOPT_ISA names if that is less.
Isa chosenIsa();
DtypeKernel portableKernel(uint32_t dtype);
/// Null block where the instructions have nothing better.
DtypeKernel avx2Kernel(uint32_t dtype);
DtypeKernel avx512Kernel(uint32_t dtype);
void avx2WideBlock(const void *data, size_t count, Partial &partial);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_PARTIAL_H
