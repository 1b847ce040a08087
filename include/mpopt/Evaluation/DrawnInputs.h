//===- DrawnInputs.h - Inputs drawn as they are declared --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_EVALUATION_DRAWNINPUTS_H
#define MPOPT_EVALUATION_DRAWNINPUTS_H

#include "mpopt/Evaluation/Array.h"

#include "mlir/IR/Value.h"

#include <optional>
#include <random>

namespace mpopt {

/// The same numbers with every library: std::mt19937 is specified to the bit,
/// distributions are not.
class RandomNumbers {
public:
  explicit RandomNumbers(uint32_t seed) : engine(seed) {}
  /// In [0, 1).
  double uniform() { return double(engine()) * 0x1p-32; }
  double normal();

private:
  std::mt19937 engine;
};

/// A draw of an argument as `mp.assume` declares it: integers uniform or by
/// their shares, floats normal within their bounds, or uniform where mean and
/// deviation are those of the bounds. Nothing where a dim is open or nothing
/// is declared.
std::optional<Array> drawInput(mlir::BlockArgument input,
                               RandomNumbers &random);

} // namespace mpopt

#endif // MPOPT_EVALUATION_DRAWNINPUTS_H
