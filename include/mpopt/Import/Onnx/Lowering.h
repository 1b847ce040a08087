//===- Lowering.h - One ONNX node to mp ops ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface for lib/Import/Onnx/Lowering/<Family>.cpp. It shows no
// protobuf: those files include MLIR only, and compile without exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ONNX_LOWERING_H
#define MPOPT_IMPORT_ONNX_LOWERING_H

#include "mpopt/Import/LoweringContext.h"

#include "mlir/IR/Region.h"

namespace mpopt::onnx_import {

/// One node being lowered. Its numbers are attributes. Operands and attributes
/// are read here, ops are made here, and every output that the node has is set
/// before the lowering returns. An output value that another output or input
/// already names is wrapped in an `mp.identity`. Where a form is unsupported,
/// the importer tries the schema's function body, then makes it `mp.opaque`.
class NodeContext : public LoweringContext {
public:
  /// `Gemm`, `com.microsoft`, the version of that domain the model imports.
  virtual llvm::StringRef type() const = 0;
  virtual llvm::StringRef domain() const = 0;
  virtual int64_t opset() const = 0;

  /// Inputs as the node lists them: an omitted one is null, `input(i)` past the
  /// end too.
  virtual unsigned numInputs() const = 0;
  virtual mlir::Value input(unsigned index) const = 0;
  bool hasInput(unsigned index) const { return bool(input(index)); }
  /// Inputs that are present, from index `first` on.
  llvm::SmallVector<mlir::Value> inputs(unsigned first = 0) const;

  /// An error unless the first `count` inputs are there.
  llvm::LogicalResult requireInputs(unsigned count);

  /// False if the output has an empty name or is past the end: it is not
  /// wanted.
  virtual bool hasOutput(unsigned index) const = 0;

  // Attributes of the node, references of a function body already resolved.
  virtual bool hasAttr(llvm::StringRef name) const = 0;
  virtual std::optional<double> findFloat(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<double>>
  findFloats(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<llvm::StringRef>>
  findStrings(llvm::StringRef name) const = 0;
  /// An `mp.constant` of a tensor attribute (sparse ones are filled in).
  virtual mlir::Value makeConstantOf(llvm::StringRef name) = 0;
  /// The type of a type_proto attribute.
  virtual mlir::Type findType(llvm::StringRef name) const = 0;

  bool getFlag(llvm::StringRef name, bool otherwise = false) const {
    return findInt(name).value_or(otherwise) != 0;
  }
  double getFloat(llvm::StringRef name, double otherwise) const {
    return findFloat(name).value_or(otherwise);
  }
  llvm::StringRef getString(llvm::StringRef name,
                            llvm::StringRef otherwise) const {
    return findString(name).value_or(otherwise);
  }
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name) const {
    return findInts(name).value_or(llvm::SmallVector<int64_t>());
  }

  /// All elements of an input, if they are known (a constant or computed from
  /// constants and known dims). Integer inputs only.
  std::optional<llvm::SmallVector<int64_t>> constantInts(unsigned index) const;

  /// An attribute that became an input in a later opset: the attribute if
  /// present, else the input's elements; nothing if there is neither or the
  /// input is not constant (`isDynamic(index)` distinguishes the two).
  std::optional<llvm::SmallVector<int64_t>> attrOrInput(llvm::StringRef name,
                                                        unsigned index) const;
  bool isDynamic(unsigned index) const {
    return hasInput(index) && !constantInts(index);
  }

  /// The MLIR element type of TensorProto.DataType number `dtype` (an
  /// attribute such as Cast's `to`); null if there is none.
  virtual mlir::Type elementTypeOf(int64_t dtype) const = 0;

  /// Imports the graph attribute `name` into `region`. Its block gets one
  /// argument of each type and ends in `mp.yield` of the graph's outputs. Outer
  /// values are captured by use.
  virtual llvm::LogicalResult importBody(llvm::StringRef name,
                                         mlir::Region &region,
                                         mlir::TypeRange arguments) = 0;

protected:
  using LoweringContext::LoweringContext;
};

using Lowering = llvm::LogicalResult (*)(NodeContext &);

/// Lowerings by (domain, op type). A lowering serves every opset and reads
/// `opset()` where versions differ.
class LoweringRegistry {
public:
  /// `ai.onnx` is the empty domain.
  virtual void add(llvm::StringRef domain, llvm::StringRef type,
                   Lowering lowering) = 0;
  void add(llvm::StringRef type, Lowering lowering) { add("", type, lowering); }

protected:
  ~LoweringRegistry() = default;
};

// Each adds the lowerings of one file, Lowering/<Family>.cpp.
#define MPOPT_FAMILY(Name)                                                     \
  void register##Name##Lowerings(LoweringRegistry &registry);
#include "mpopt/Dialect/Families.inc"
#undef MPOPT_FAMILY

} // namespace mpopt::onnx_import

#endif // MPOPT_IMPORT_ONNX_LOWERING_H
