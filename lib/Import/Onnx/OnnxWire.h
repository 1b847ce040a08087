//===- OnnxWire.h - Large tensors taken out of a model's bytes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Protobuf copies every byte field to the heap. To read a model of gigabytes
// without that, the wire format is walked first and large tensor payloads are
// replaced by a reference; what is left is small and parsed as usual.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ONNX_ONNXWIRE_H
#define MPOPT_LIB_IMPORT_ONNX_ONNXWIRE_H

#include "mpopt/Import/ErrorSink.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt::onnx_import {

/// A payload that stayed in the file: raw_data (TensorProto field 9), packed
/// float_data (4) or packed double_data (10).
struct CutBytes {
  uint64_t offset;
  uint64_t length;
  unsigned field;
};

struct SlimModel {
  std::string bytes;
  std::vector<CutBytes> cuts;
};

/// The key of the external_data entry that stands for a cut payload; its value
/// is the number of the cut.
inline constexpr llvm::StringLiteral kCutKey = "mpopt.bytes";

/// Graphs, functions and attributes nested deeper than this are refused: no
/// exporter writes them, and recursion over them must end.
inline constexpr unsigned kMaxGraphDepth = 64;

/// Rewrites a serialised ModelProto without payloads of at least `threshold`
/// bytes. Malformed wire data is reported with its byte offset.
std::optional<SlimModel> cutLargeTensors(llvm::StringRef model,
                                         uint64_t threshold, ErrorSink &sink);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_ONNXWIRE_H
