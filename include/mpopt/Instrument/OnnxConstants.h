//===- OnnxConstants.h - Numbers in an ONNX file ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants are changed in place: nothing else of the file is parsed, and all
// other bytes stay.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_ONNXCONSTANTS_H
#define MPOPT_INSTRUMENT_ONNXCONSTANTS_H

#include "mpopt/Instrument/FilePatch.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// The elements of a constant that a change changes, and the first of them.
struct ChangedElements {
  uint64_t count = 0, of = 0;
  double before = 0, after = 0;
};

/// Adds to `patch` the edits that make `change(x)` of each element x of the
/// float constant that the model names `tensor`: an initializer, or the result
/// of a Constant node. The error says why it cannot be changed.
llvm::Expected<ChangedElements>
changeConstant(llvm::StringRef model, llvm::StringRef tensor,
               llvm::function_ref<double(double)> change, FilePatch &patch);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_ONNXCONSTANTS_H
