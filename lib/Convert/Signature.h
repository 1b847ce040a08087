//===- Signature.h - The type variables of a node ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of operands and results at the model's opset: by the ONNX library's
// definitions, and by ONNX Runtime's for its own ops (ContribTypes.def).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERT_SIGNATURE_H
#define MPOPT_LIB_CONVERT_SIGNATURE_H

#include "lib/Import/Onnx/Functions.h"

#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <map>

namespace mpopt::convert {

/// Element types that matter here, as bits.
enum Accepts : uint8_t {
  kTakesFloat = 1,
  kTakesHalf = 2,
  kTakesBfloat = 4,
  kTakesInt64 = 8,
  kTakesOther = 16
};
// Any float that a conversion is about.
constexpr uint8_t kTakesFloats = kTakesFloat | kTakesHalf | kTakesBfloat;

struct Slot {
  /// `T`, or a concrete type, which is a variable of its own.
  llvm::StringRef variable;
  uint8_t accepts = 0;
  /// The further operands of a variadic one have types of their own.
  bool isFree = false;
};

struct Signature {
  llvm::SmallVector<Slot> inputs, outputs;
  bool isInputVariadic = false, isOutputVariadic = false;

  const Slot *input(unsigned index) const {
    return at(inputs, isInputVariadic, index);
  }
  const Slot *output(unsigned index) const {
    return at(outputs, isOutputVariadic, index);
  }
  bool hasInput(llvm::StringRef variable) const;

private:
  static const Slot *at(llvm::ArrayRef<Slot> slots, bool isVariadic,
                        unsigned index);
};

/// True for an op of ONNX Runtime's own.
bool isContribOp(llvm::StringRef type);

/// Signatures, each read once.
class Signatures {
public:
  /// Null for an op that neither knows.
  const Signature *find(const onnx::NodeProto &node,
                        const onnx_import::OpsetMap &opsets);

private:
  std::map<const void *, Signature> known;
};

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_SIGNATURE_H
