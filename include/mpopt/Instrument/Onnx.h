//===- Onnx.h - Probes in an ONNX file --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Protobuf merges what follows a message into it, so probes of the main graph
// are appended to the file and its own bytes stay as they are. Two things need
// edits inside: probes in bodies of If, Loop and Scan, and a file of IR version
// 3, whose initializers are listed as inputs, too (from IR 4 on that would make
// them overridable). docs/probes.md has the format.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_ONNX_H
#define MPOPT_INSTRUMENT_ONNX_H

#include "mpopt/Instrument/FilePatch.h"
#include "mpopt/Instrument/Plan.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>

namespace mpopt {

namespace onnx_instrument {
struct GraphMap;
} // namespace onnx_instrument

/// `Op`: nodes `mpopt::Probe`, which record what they see where the op library
/// is registered and do nothing elsewhere. `Outputs`: statistics by standard
/// ops as further outputs of the model.
enum class ProbeWith { Op, Outputs };

class OnnxInstrumenter {
public:
  /// `model` is a serialised ModelProto without probes, and outlives this.
  static llvm::Expected<OnnxInstrumenter> open(llvm::StringRef model,
                                               ProbeWith with);
  OnnxInstrumenter(OnnxInstrumenter &&);
  ~OnnxInstrumenter();

  /// The reason why the tensor can have no probe; empty if it can.
  std::string whyNot(llvm::StringRef tensor) const;

  /// Fails if the file would get larger than protobuf allows. `ledgerHash` is
  /// 64 hex digits.
  llvm::Error prepare(llvm::ArrayRef<Probe> probes, llvm::StringRef ledgerHash);
  void write(llvm::raw_ostream &os);

private:
  OnnxInstrumenter(llvm::StringRef model, ProbeWith with,
                   std::unique_ptr<onnx_instrument::GraphMap> map);

  std::vector<int64_t> dropOverridableInputs();
  void mendLengths(std::vector<int64_t> growth);

  llvm::StringRef model;
  ProbeWith with;
  std::unique_ptr<onnx_instrument::GraphMap> map;
  FilePatch patch;
  Undo undo;
  std::string tail;
};

/// The files that the model at `path` takes weights from, besides itself; they
/// lie relative to its folder.
llvm::Expected<std::vector<std::string>>
findExternalFiles(llvm::StringRef model, llvm::StringRef path);

/// Reads from an ONNX file with probes how to remove them; an error if it has
/// none.
llvm::Expected<Undo> findOnnxProbes(llvm::StringRef model);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_ONNX_H
