//===- PendingModel.h - An ONNX model that has no name yet ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_PENDINGMODEL_H
#define MPOPT_LIB_DRIVER_CONVERSION_PENDINGMODEL_H

#include "mpopt/Convert/Convert.h"
#include "mpopt/Driver/Output.h"

#include <optional>

namespace mpopt {

/// A model in temporary files beside OUT and, where its weights are in a file
/// of their own, OUT.data. Both are gone unless they are kept.
class PendingModel {
public:
  PendingModel(OnnxConverter &converter, llvm::StringRef output)
      : converter(converter), output(output) {}

  /// Writes the model as it is now; the weights the first time.
  llvm::Error write();
  /// Where it is.
  const std::string &path() const { return model->path(); }
  /// Gives both files their names.
  llvm::Error keep();

private:
  llvm::Error writeModel();
  llvm::Error writeWeights();

  OnnxConverter &converter;
  std::string output;
  std::optional<PendingOutput> model, weights;
  bool isPlaced = false; ///< the weights, or they are in the model
};

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_PENDINGMODEL_H
