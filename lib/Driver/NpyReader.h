//===- NpyReader.h - Arrays in NumPy's format -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_NPYREADER_H
#define MPOPT_LIB_DRIVER_NPYREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace mpopt {

struct ZipMember;

struct NpyHeader {
  std::vector<int64_t> shape;
  uint64_t count = 0; ///< of elements
  /// Written column by column (`fortran_order`).
  bool byColumns = false;
};

/// Reads an array as it is unpacked, so that its size is no matter: `begin`
/// gets the header, and may refuse it, then `visit` the elements, block by
/// block, in the order in which they were written. NaN and dtypes that are no
/// numbers are errors.
llvm::Error readNpy(const ZipMember &member, llvm::StringRef name,
                    llvm::function_ref<llvm::Error(const NpyHeader &)> begin,
                    llvm::function_ref<void(llvm::ArrayRef<double>)> visit);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_NPYREADER_H
