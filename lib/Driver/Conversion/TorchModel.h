//===- TorchModel.h - Files of PyTorch in mixed precision -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan is carried out by PyTorch's own graphs, in the Python package
// (python/mpopt/_torch_converting.py): no other library keeps to the formats of
// all its versions.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_DRIVER_CONVERSION_TORCHMODEL_H
#define MPOPT_LIB_DRIVER_CONVERSION_TORCHMODEL_H

#include "mpopt/Convert/Convert.h"
#include "mpopt/Driver/Options.h"
#include "mpopt/Import/ImportResult.h"

#include <map>

namespace mpopt {

/// What is known of a value of the graph. Values of one name that differ have
/// no dtype.
struct TorchValue {
  std::string dtype;
  /// Empty if it is not known, or that of a scalar.
  std::vector<int64_t> shape;
};
using TorchValues = std::map<std::string, TorchValue>;

/// The values of an imported module by the graph's names, inputs as `input 0`.
/// The import had `wantPlaces`.
TorchValues listTorchValues(const ImportResult &imported);

/// An option that files of PyTorch, or archives of TorchScript among them, have
/// no use for: one line.
llvm::Error checkTorchOptions(const Options &options, bool isArchive);

/// True if the output is a patch of the model's source, and no archive.
bool isSourcePatch(const Options &options);

/// Writes the model in `path` to `output` as `request` says, with `stamp`, or
/// the patch of its source. Nothing is written if nothing is changed, as in a
/// file that has the stamp of the same request. The error is one line.
llvm::Expected<Conversion> convertTorch(llvm::StringRef path,
                                        llvm::StringRef output,
                                        const ConvertRequest &request,
                                        const TorchValues &values,
                                        llvm::StringRef stamp, bool isPatch);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_TORCHMODEL_H
