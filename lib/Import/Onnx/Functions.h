//===- Functions.h - Model-local functions and opsets
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_FUNCTIONS_H
#define MPOPT_LIB_IMPORT_ONNX_FUNCTIONS_H

#include "mpopt/Import/ErrorSink.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace mpopt::onnx_import {

/// `ai.onnx` and the empty domain are one.
inline llvm::StringRef normalizeDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

/// `Relu`, `com.microsoft::Attention`.
std::string qualifiedType(llvm::StringRef domain, llvm::StringRef type);

/// Domain -> version.
class OpsetMap {
public:
  using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

  /// Wrong or unknown versions are reported under `owner`.
  static OpsetMap read(const Imports &imports, int64_t irVersion,
                       llvm::StringRef owner, ErrorSink *sink);

  /// 0 if the domain is not imported.
  int64_t version(llvm::StringRef domain) const {
    return versions.lookup(normalizeDomain(domain));
  }

  /// The versions of domains that `other` imports and this does not.
  void addMissing(const OpsetMap &other) {
    for (const auto &entry : other.versions)
      versions.try_emplace(entry.getKey(), entry.getValue());
  }

private:
  llvm::StringMap<int64_t> versions;
};

/// The operator's definition at the version that `opsets` imports; null if the
/// ONNX library has none.
const onnx::OpSchema *findSchema(const onnx::NodeProto &node,
                                 const OpsetMap &opsets);

class FunctionTable {
public:
  /// Also reports functions that are defined twice, call themselves, or expand
  /// beyond all bounds; false then.
  bool build(const onnx::ModelProto &model, ErrorSink &sink);

  const onnx::FunctionProto *find(const onnx::NodeProto &node) const;

  /// Calls nested deeper than this are refused.
  static constexpr unsigned kMaxCallDepth = 64;
  /// No model is larger than this after expansion.
  static constexpr uint64_t kMaxExpandedNodes = 1000000;

private:
  llvm::StringMap<const onnx::FunctionProto *> functions;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_FUNCTIONS_H
