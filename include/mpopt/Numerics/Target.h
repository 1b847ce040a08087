//===- Target.h - The arithmetic a machine is assumed to have ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formats in which a kernel adds and evaluates functions, by the format of
// its operands. Support/TargetFile.h reads a profile from its file.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_TARGET_H
#define MPOPT_NUMERICS_TARGET_H

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace mpopt {

class TargetProfile {
public:
  const std::string &name() const { return profileName; }
  /// A sentence that says what is assumed.
  const std::string &summary() const { return text; }

  /// The format in which products of operands of `format` are summed (matmul,
  /// convolution).
  const FloatFormat &products(const FloatFormat &format) const;
  /// The format in which elements of `format` are summed (reductions, norms,
  /// softmax, pools).
  const FloatFormat &sums(const FloatFormat &format) const;
  /// The format in which elementwise functions of `format` are computed.
  const FloatFormat &functions(const FloatFormat &format) const;
  /// Absolute error of sigmoid, tanh and erf beyond units in the last place, in
  /// kernels that use rational approximations and clamp their argument.
  double approximation() const { return approximationError; }
  /// True if long sums are added as a tree, halves first, so that an estimate
  /// of their error grows with the logarithm of their length. Bounds hold for
  /// any order and do not depend on it.
  bool addsPairwise() const { return pairwise; }

private:
  friend class TargetReader;
  using Table = std::map<std::string, const FloatFormat *>;
  std::string profileName, text;
  Table productTable, sumTable, functionTable;
  double approximationError = 0;
  bool pairwise = false;
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_TARGET_H
