//===- UnpackBudget.h - What the tensors of a file may unpack ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that do not lie in their file as they are read take memory of their
// own: sparse ones, quantised ones, views that repeat or leave out elements. A
// few bytes can ask for any amount. Shows neither LLVM nor LibTorch.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_UNPACKBUDGET_H
#define MPOPT_IMPORT_UNPACKBUDGET_H

#include <cstdint>

namespace mpopt {

/// One for each file: the limit is that of all its tensors together.
class UnpackBudget {
public:
  /// 256 MiB, a mask of 4,096 x 4,096 for each of 16 heads, and for each byte
  /// of the file eight: codes of 4 bits that become floats.
  explicit UnpackBudget(uint64_t fileBytes)
      : left((uint64_t(256) << 20) +
             8 * (fileBytes < uint64_t(1) << 60 ? fileBytes : 0)) {}

  /// Takes what a tensor unpacks to; false if too much is asked for.
  bool take(uint64_t elements, uint64_t width) {
    if (elements > left / (width ? width : 1))
      return false;
    left -= elements * width;
    return true;
  }

private:
  uint64_t left;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_UNPACKBUDGET_H
