//===- Graph.h - A method of aten ops as plain data -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reader of a format of PyTorch fills in a Graph, and the importer
// (AtenImport.h) makes mp IR of it. Standard library only: a reader that links
// LibTorch is compiled with other flags (RTTI and exceptions) and sees no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ATEN_GRAPH_H
#define MPOPT_IMPORT_ATEN_GRAPH_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpopt::aten {

/// The static type of a value, as far as lowering cares.
struct StaticType {
  enum class Kind : uint8_t {
    Tensor,
    Int,
    Float,
    Bool,
    Complex,
    Number, ///< `Scalar`: Int, Float, Bool or Complex
    String,
    Device,
    None,
    Optional, ///< has one element type
    List,     ///< one
    Tuple,    ///< one element type a member
    Dict,     ///< key and value
    Object,   ///< a module or another class instance
    Other
  };
  Kind kind = Kind::Other;
  std::vector<StaticType> elements;
};

/// A parameter, buffer or literal.
struct Tensor {
  std::string name;   ///< path in the module (`encoder.0.weight`), else empty
  int scalarType = 6; ///< number of c10::ScalarType (6: float)
  std::vector<int64_t> sizes;
  /// In elements. Along a dim with stride 0 all are the same, and neither file
  /// nor `bytes` has more than one.
  std::vector<int64_t> strides;
  /// Offset in the archive, in bytes, of element (0, ..., 0). Negative if the
  /// tensor is not stored there as plain bytes: then `bytes` holds the
  /// elements, row-major.
  int64_t fileOffset = -1;
  std::string bytes;
  /// Tensors with the same number share memory: a write to one may change
  /// another.
  int64_t memory = -1;
  bool requiresGrad = false;
  bool isParameter = false;
  /// Scale and zero point of a quantised tensor: one for the tensor (`axis` is
  /// -1) or one for each index along `axis`. Empty for others.
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  int64_t axis = -1;
};

/// A value known when the graph was saved.
struct Constant {
  enum class Kind : uint8_t {
    None,
    Bool,
    Int,
    Float,
    Complex,
    String,
    Device, ///< `string` is its type (`cuda`)
    Tensor, ///< `integer` is an index into Graph::tensors
    List,
    Tuple,
    Dict,  ///< keys and values in turn
    Object ///< `string` is its path, or its class where it is no submodule
  };
  Kind kind = Kind::None;
  int64_t integer = 0;
  double real = 0, imaginary = 0;
  std::string string;
  std::vector<Constant> elements;
};

using ValueId = uint32_t;

struct GraphValue {
  std::string name; ///< unique in the graph; an input's own name
  StaticType type;
  /// Shape and dtype of the example with which an input was traced.
  /// `tracedType` is a number of c10::ScalarType, negative if they are not
  /// known.
  std::vector<int64_t> tracedSizes;
  int tracedType = -1;
  /// Shape and dtype that the file declares for all runs, with the names of
  /// the dims that are left open (-1). `declaredType` as `tracedType`.
  std::vector<int64_t> declaredSizes;
  std::vector<std::string> dimNames;
  int declaredType = -1;
  /// The file's own name of the value, below the path of its graph; of a list,
  /// those of its members. Empty where a reader's names are the file's.
  std::string origin;
  std::vector<std::string> memberOrigins;
  /// The node that makes it is read more than once, as other values.
  bool repeats = false;
};

struct SourceLine {
  std::string file;
  int line = 0, column = 0; ///< from 1; 0 if unknown
};

struct GraphBlock;

struct Node {
  std::string op;       ///< `aten::add`
  std::string overload; ///< `Tensor`; empty for the only one and for prim::
  std::vector<ValueId> inputs, outputs;
  std::vector<std::string> arguments; ///< the schema's name of each input
  std::vector<bool> writes;           ///< whether the input is changed in place
  std::vector<bool> shares;           ///< whether outputs may be views of it
  std::map<std::string, Constant> attributes;
  std::vector<GraphBlock> blocks;
  SourceLine source; ///< the user's own line
  std::string scope; ///< path of the module that ran it (`encoder.0`)

  std::string qualified() const {
    return overload.empty() ? op : op + "." + overload;
  }
};

struct GraphBlock {
  std::vector<ValueId> arguments;
  std::vector<Node> nodes;
  std::vector<ValueId> results;
};

/// A method with everything that it calls inlined. Attributes of modules are
/// read by `prim::GetAttr` and changed by `prim::SetAttr` nodes, whose
/// attribute `path` names the attribute (`encoder.0.running_mean`).
struct Graph {
  std::string method;
  std::string modelClass; ///< `__torch__.model.Net`
  bool training = false;
  bool isTraced = false;
  std::vector<GraphValue> values;
  std::vector<ValueId> inputs; ///< without `self`
  GraphBlock body;
  std::vector<Tensor> tensors;
  std::map<std::string, Constant> attributes; ///< path -> value when saved
  /// path -> number of the place that it names: a module that two others hold
  /// has two paths.
  std::map<std::string, int64_t> slots;
  uint64_t parameters = 0; ///< elements of all parameters
  std::vector<std::string> warnings;
};

} // namespace mpopt::aten

#endif // MPOPT_IMPORT_ATEN_GRAPH_H
