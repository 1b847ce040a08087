//===- Target.h - The arithmetic a machine is assumed to have ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formats in which a kernel adds and evaluates functions, by the format of
// its operands, and what the kernels of single ops do otherwise. Ops are named
// by their mnemonics in `mp`. Support/TargetFile.h reads a profile from its
// file.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_TARGET_H
#define MPOPT_NUMERICS_TARGET_H

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/StringRef.h"

#include <list>
#include <map>
#include <string>
#include <vector>

namespace mpopt {

/// How kernels multiply codes of whole numbers, and what becomes of the sums.
struct CodeArithmetic {
  /// Two products of an unsigned and a signed byte that follow each other in
  /// the sum are added in so many bits, which saturate; 0: exactly.
  unsigned pairBits = 0;
  /// Signed activations are offset to be such pairs, too.
  bool pairsSigned = false;
  /// Sums of products wrap in so many bits.
  unsigned accumulatorBits = 32;
  /// Codes of so many bits are multiplied as whole numbers, wider ones as
  /// floats.
  unsigned widestBits = 8;
  /// The format of (code - zero point) * scale; null: that of the file.
  const FloatFormat *dequantised = nullptr;
};

class TargetProfile {
public:
  const std::string &name() const { return profileName; }
  /// A sentence that says what is assumed.
  const std::string &summary() const { return text; }

  /// The format in which products of operands of `format` are summed (matmul,
  /// convolution). Its largest number is that of the accumulator, which may be
  /// smaller than its digits suggest.
  const FloatFormat &products(const FloatFormat &format,
                              llvm::StringRef op) const;
  /// The format in which elements of `format` are summed (reductions, norms,
  /// softmax, pools).
  const FloatFormat &sums(const FloatFormat &format, llvm::StringRef op) const;
  /// The format in which elementwise functions of `format` are computed.
  const FloatFormat &functions(const FloatFormat &format,
                               llvm::StringRef op) const;
  /// True if the kernel takes the exponentials of its elements as they are: a
  /// softplus or a log-sum-exp without the shift by the largest of them.
  bool takesPlainExponentials(llvm::StringRef op) const;
  /// The ops whose kernels have facts of their own.
  std::vector<std::string> namedOps() const;

  const CodeArithmetic &codes() const { return codeArithmetic; }

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
  struct Tables {
    Table products, sums, functions;
  };
  /// The deviations of one op's kernel.
  struct Kernel {
    Tables tables;
    bool plainExponentials = false;
  };
  const FloatFormat &lookUp(Table Tables::*table, const FloatFormat &format,
                            llvm::StringRef op) const;

  std::string profileName, text;
  Tables tables;
  std::map<std::string, Kernel, std::less<>> kernels;
  /// Accumulators whose largest number is not that of their format.
  std::list<FloatFormat> limited;
  CodeArithmetic codeArithmetic;
  double approximationError = 0;
  bool pairwise = false;
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_TARGET_H
