//===- Codes.h - The numbers of codes and of scales -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CHECKPOINT_CODES_H
#define MPOPT_LIB_CHECKPOINT_CODES_H

#include "mpopt/Checkpoint/Checkpoint.h"
#include "llvm/ADT/APFloat.h"

#include <array>

namespace mpopt::checkpoints {

/// The values of a dtype's elements; NaN for what is none.
class Numbers {
public:
  /// A reader of any float or integer dtype of whole bytes. `U8` is read as
  /// E8M0, in which MX formats store scales.
  static std::optional<Numbers> of(const StoredDtype &dtype);
  double at(const char *bytes, uint64_t index) const;
  uint64_t size(uint64_t count) const { return count * width; }

private:
  unsigned width = 0;
  bool isFloat = false, isSigned = false;
  const llvm::fltSemantics *semantics = nullptr;
  /// The number of each byte.
  std::array<double, 256> table;
};

/// The codes of a weight: what each byte stands for, and how large it is among
/// the others.
struct CodeFormat {
  /// Two codes a byte, the first in the low bits.
  bool isPacked = false;
  /// The rank of a byte is the byte less its first bit, up to `top`.
  bool isByBits = false;
  /// The number of each code.
  std::array<double, 256> value;
  /// The rank of the larger code in each byte.
  std::array<uint8_t, 256> rank;
  /// By rank.
  std::array<double, 256> magnitude;
  uint8_t top = 0; ///< the rank of the largest code
  double flushAt = 0;
  /// The distance of the codes next to one.
  double step(double value) const;

  static CodeFormat of(const StoredDtype &dtype);

private:
  unsigned digits = 0; ///< of floats; 0 for integers
  double least = 1;    ///< the least code above 0
};

/// The units of a weight that share a scale, in its order of bytes.
struct Grid {
  int64_t batch = 1, rows = 1, columns = 1; ///< columns in bytes
  int64_t unitRows = 1, unitColumns = 1;    ///< elements of a unit, in bytes
  int64_t rowUnits = 1, columnUnits = 1;    ///< units of a batch

  int64_t units() const { return batch * rowUnits * columnUnits; }
  int64_t unitOf(int64_t row, int64_t column) const {
    return (row / rows * rowUnits + row % rows / unitRows) * columnUnits +
           column / unitColumns;
  }
};

/// The codes of a weight, counted.
struct CodeUse {
  std::array<uint64_t, 256> count{}; ///< by byte
  std::vector<uint8_t> largest;      ///< by unit, a rank
  uint64_t bytes = 0;

  /// Calls `visit(value, count)` for each code that occurs.
  template <typename Visit>
  void forEach(const CodeFormat &format, Visit visit) const {
    for (unsigned byte = 0; byte < 256; ++byte)
      if (count[byte] && format.isPacked) {
        visit(format.value[byte & 15], count[byte]);
        visit(format.value[byte >> 4], count[byte]);
      } else if (count[byte]) {
        visit(format.value[byte], count[byte]);
      }
  }
  uint64_t elements(const CodeFormat &format) const {
    return bytes << format.isPacked;
  }
};

/// Reads all codes once, in pieces.
llvm::Expected<CodeUse> scanCodes(const Checkpoint &checkpoint,
                                  const StoredTensor &codes,
                                  const CodeFormat &format, const Grid &grid);

/// A small tensor's numbers.
llvm::Expected<std::vector<char>> readAll(const Checkpoint &checkpoint,
                                          const StoredTensor &tensor);

} // namespace mpopt::checkpoints

#endif // MPOPT_LIB_CHECKPOINT_CODES_H
