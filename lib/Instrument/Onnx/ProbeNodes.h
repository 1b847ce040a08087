//===- ProbeNodes.h - Serialised nodes that look at tensors -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_INSTRUMENT_ONNX_PROBENODES_H
#define MPOPT_LIB_INSTRUMENT_ONNX_PROBENODES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
} // namespace onnx

namespace mpopt::onnx_instrument {

struct ProbeNode {
  std::string value; ///< name in its graph
  int64_t id;
  std::string dtype;        ///< in the file
  bool isInput = false;     ///< of the model
  int64_t channelAxis = -1; ///< As Probe::channelAxis.
};

/// Facts for the end of the file, beside the nodes.
struct TailFacts {
  int64_t irVersion; ///< 0: unchanged
  int64_t opset;
  /// The model does not import the probes' domain yet. A graph that ONNX
  /// Runtime saved imports every domain that the process had registered.
  bool importDomain;
  /// Some probe has the attribute `channel_axis`.
  bool keepsChannels;
  std::string undo;
  std::string ledgerHash;
};

/// A part of a GraphProto with one probe each.
std::string encodeProbes(llvm::ArrayRef<ProbeNode> nodes,
                         llvm::StringRef ledgerHash);

/// A part of a ModelProto with probes of the main graph and the function that
/// stands in for the op where no library is registered.
std::string encodeOpTail(llvm::ArrayRef<ProbeNode> nodes,
                         const TailFacts &facts);

/// The same with statistics as outputs `mpopt.probe.ID.counts` and
/// `mpopt.probe.ID.values` (docs/instrument.md), by ops of opset 10. The
/// metadata entry `mpopt.outputs` says what the tensors are, in JSON: by probe
/// id the `dtype` in the file and, if it is one, the `input` of the model.
std::string encodeOutputTail(llvm::ArrayRef<ProbeNode> nodes,
                             const TailFacts &facts);

/// The nodes, constants and outputs of that. In StatisticNodes.cpp.
void addStatistics(onnx::GraphProto &graph, llvm::ArrayRef<ProbeNode> nodes);

} // namespace mpopt::onnx_instrument

#endif // MPOPT_LIB_INSTRUMENT_ONNX_PROBENODES_H
