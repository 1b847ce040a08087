//===- CodeShares.cpp - How numbers take the codes of a format ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/CodeShares.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

CodeShares mpopt::countShares(llvm::ArrayRef<uint64_t> counts, int least,
                              const CodeShares &expected) {
  CodeShares seen = {expected.codes, expected.zero};
  double all = 0, first = 0, last = 0;
  for (auto [index, count] : llvm::enumerate(counts)) {
    double code = least + double(index);
    if (count) {
      first = all ? first : code;
      last = code;
    }
    all += double(count);
    if (code == seen.zero)
      seen.atZero += double(count);
    else if (code == seen.codes.lo || code == seen.codes.hi)
      seen.atEnds += double(count);
  }
  seen.used = last - first + 1;
  seen.atZero /= all;
  seen.atEnds /= all;
  return seen;
}
