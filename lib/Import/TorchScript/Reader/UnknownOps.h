//===- UnknownOps.h - Ops of libraries that are not there -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An archive's code may call ops of extensions (torchvision, torch_scatter),
// which a program loads before the archive. Nothing is run here, so that it is
// enough to declare them: they become opaque ops.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_UNKNOWNOPS_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_UNKNOWNOPS_H

#include <string>

namespace mpopt::torchscript {

/// If `failure` is LibTorch's complaint about a call of an op that it does not
/// have, declares that op: as known of torchvision, else as one that takes
/// anything and gives as many tensors as the call shows. False if it is another
/// complaint, or one about an op that was declared before.
bool declareUnknownOp(const std::string &failure);

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_UNKNOWNOPS_H
