//===- PendingModel.cpp - An ONNX model that has no name yet
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PendingModel.h"

#include "llvm/Support/Path.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;

static Error writeBy(const std::string &file,
                     std::optional<PendingOutput> &pending,
                     llvm::function_ref<Error(llvm::raw_ostream &)> write) {
  Error error = Error::success();
  Expected<PendingOutput> written =
      PendingOutput::write(file, [&](llvm::raw_ostream &os) {
        if (!error)
          error = write(os);
      });
  if (!written)
    return llvm::joinErrors(std::move(error), written.takeError());
  pending.reset();
  pending.emplace(std::move(*written));
  return error;
}

Error PendingModel::writeModel() {
  return writeBy(output, model, [&](llvm::raw_ostream &os) {
    return converter.writeModel(os);
  });
}

Error PendingModel::writeWeights() {
  std::string file = output + ".data";
  if (!converter.placeWeights(llvm::sys::path::filename(file)))
    return Error::success();
  if (Error error = writeBy(file, weights, [&](llvm::raw_ostream &os) {
        return converter.writeWeights(os);
      }))
    return error;
  // Until it has its name the analysis reads the weights where they are.
  converter.moveWeights(llvm::sys::path::filename(weights->path()));
  return Error::success();
}

Error PendingModel::write() {
  if (!isPlaced)
    if (Error error = writeWeights())
      return error;
  isPlaced = true;
  return writeModel();
}

Error PendingModel::keep() {
  if (weights) {
    converter.moveWeights(llvm::sys::path::filename(output + ".data"));
    if (Error error = writeModel())
      return error;
    if (Error error = weights->keep())
      return error;
  }
  return model->keep();
}
