//===- Convert.h - ONNX models in mixed precision ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of tools. It shows no protobuf.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CONVERT_CONVERT_H
#define MPOPT_CONVERT_CONVERT_H

#include "mpopt/Convert/ModuleCopy.h"
#include "mpopt/Repair/ConversionPlan.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace mpopt {

struct ConvertRequest {
  ConversionPlan plan;
  /// Nodes that stay in FP32, and nodes that do not stay there for the plan:
  /// names, regular expressions, types of ops, `MatMul>Softmax`, `out:VALUE`.
  std::vector<std::string> keep, never;
  /// Inputs and outputs that keep their type: names, regular expressions, and
  /// `!NAME` for those that do not; `keepsAllIo` where none is named.
  bool keepsAllIo = false;
  std::vector<std::string> keepIo;
  /// `DOMAIN::OP` of which the low type is taken.
  std::vector<std::string> assumed;
  /// The shape of a value, by the path of its graph and its name, inside
  /// functions by `nameResult`; nothing where it is not known.
  std::function<std::optional<std::vector<int64_t>>(llvm::StringRef scope,
                                                    llvm::StringRef name)>
      findShape;
};

/// The name by which `findShape` finds a node's result that the file leaves
/// unnamed.
std::string nameResult(llvm::StringRef node, size_t index);

/// A node that computes in FP32 in the result.
struct KeptNode {
  std::string scope, name, type;
  /// Indices of the FP32 operands; empty: all.
  std::vector<unsigned> operands;
  std::string why;
};

struct InsertedCast {
  std::string scope, tensor;
  std::string to; ///< `f16`
  std::string why;
};

struct ConvertedBorder {
  std::string name, from, to;
};

/// The products that read FP8, and the scales that are known of activations
/// (one) and weights (one a column), by tensor.
struct ScaledProducts {
  std::set<std::string> nodes;
  std::map<std::string, std::vector<double>> scales;
};

/// An operand that is read as codes.
struct TensorInFp8 {
  std::string tensor;
  std::vector<double> scales;
};

struct Conversion {
  std::vector<KeptNode> kept;
  std::vector<InsertedCast> casts;
  std::vector<ConvertedBorder> io;
  std::vector<TensorInFp8> scaled;
  std::vector<std::string> warnings;
  uint64_t bytesBefore = 0, bytesAfter = 0; ///< of constants
  /// Bytes that inserted casts read and write, where shapes are known.
  double castBytes = 0;
  /// False if nothing of the model changes its type.
  bool isChanged = false;
};

/// A model that was made FP32 with all its roundings.
struct RestoredModel {
  /// Inputs that were of 16 bits, and their types (`f16`, `bf16`).
  std::vector<std::pair<std::string, std::string>> lowInputs;
  /// Floats that nodes of the main graph give, outputs left out.
  std::vector<std::string> tensors;
  /// Outputs that are casts of integers or truth values.
  std::vector<std::string> wholeOutputs;
  /// False if nothing was of 16 bits.
  bool isChanged = false;
};

/// An ONNX model that is converted in memory, its weights left in their files.
class OnnxConverter {
public:
  /// `bytes` is the content of the file `path` and outlives this. The error is
  /// one line: the model is not valid.
  static llvm::Expected<OnnxConverter> open(llvm::StringRef bytes,
                                            llvm::StringRef path);
  OnnxConverter(OnnxConverter &&);
  ~OnnxConverter();

  /// The value of a key of `metadata_props`; empty if there is none.
  std::string findNote(llvm::StringRef key) const;
  void setNote(llvm::StringRef key, llvm::StringRef value);

  /// The opset of ONNX's own domain.
  int64_t getOpset() const;
  /// Raises ONNX's own domain to that opset. The error is one line, and the
  /// model is of no use then.
  llvm::Error raiseOpset(unsigned opset);
  /// Gives operands of products of the main graph as FP8 codes. The error is
  /// one line.
  llvm::Expected<std::vector<TensorInFp8>>
  scaleOperands(const ScaledProducts &products);
  /// Mixed precision. The error is one line.
  llvm::Expected<Conversion> convert(const ConvertRequest &request);
  /// The change of the file that a changed copy of its module stands for:
  /// described, and made.
  /// The error is one line: why it has no form in the file.
  llvm::Expected<ModelDiff> describeChange(const ModuleCopy &copy);
  llvm::Expected<ModelDiff> change(const ModuleCopy &copy);

  /// All 16-bit floats to FP32.
  Conversion widenAll();
  /// The same of a model that holds FP16, for a conversion to BF16 behind
  /// this: the nodes that compute in FP32 in it, which stay there.
  std::vector<WideNode> widenHalf();

  /// All 16-bit floats to FP32, each result that was of 16 bits rounded by a
  /// pair of casts; functions are inlined. The error is one line.
  llvm::Expected<RestoredModel> restoreRoundings();
  /// Makes tensors of the main graph outputs, too.
  void addOutputs(llvm::ArrayRef<std::string> tensors);

  /// The first fault that ONNX's own checks find in the model as it is now, one
  /// line; empty if none. `stale` is set instead for what runtimes take.
  std::string findFault(std::string &stale) const;

  /// Mends stated shapes that are stale.
  void mendShapes();

  /// True if the weights are to be in a file of their own, `dataName` beside
  /// the model.
  bool placeWeights(llvm::StringRef dataName);
  /// Renames that file in the model.
  void moveWeights(llvm::StringRef dataName);
  /// Both write what `placeWeights` has placed; the error is one line.
  llvm::Error writeModel(llvm::raw_ostream &os) const;
  llvm::Error writeWeights(llvm::raw_ostream &os) const;

private:
  struct State;
  explicit OnnxConverter(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
};

} // namespace mpopt

#endif // MPOPT_CONVERT_CONVERT_H
