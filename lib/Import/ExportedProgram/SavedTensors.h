//===- SavedTensors.h - The tensors of a dict that was saved ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_SAVEDTENSORS_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_SAVEDTENSORS_H

#include "Archive.h"

#include <string>
#include <vector>

namespace mpopt::exported {

/// A tensor as torch.save writes it.
struct SavedTensor {
  std::string name;
  int scalarType = 6; ///< number of c10::ScalarType
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0; ///< of its first element in the storage
  bool isParameter = false, requiresGrad = false;
  std::string storage; ///< tensors of one storage share memory
  Record record;       ///< the bytes of the storage
};

/// The tensors of the dict that torch.save wrote to `file`, which is an archive
/// inside of another one. The pickle is read as data: nothing in it is run, and
/// what is no tensor of plain strides is left out. An error is a phrase that
/// continues "the archive ".
llvm::Expected<std::vector<SavedTensor>> readSavedTensors(const Record &file);

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_SAVEDTENSORS_H
