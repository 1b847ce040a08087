//===- MPDialect.td - The mp dialect: types, attributes, op base -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_MPDIALECT_TD
#define MPOPT_DIALECT_MPDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mpopt/Dialect/Interfaces/Interfaces.td"
include "mpopt/Dialect/Roles.td"

def MP_Dialect : Dialect {
  let name = "mp";
  let cppNamespace = "::mpopt::mp";
  let summary = "Neutral machine-learning ops for mixed-precision analysis";
  let description = [{
    What the importers of ONNX and TorchScript lower to, and what ranges and
    rules read. Ops are what a rule wants to talk about (`mp.matmul`,
    `mp.softmax`, `mp.layer_norm`) together with the primitives that decomposed
    graphs use. Elementwise ops broadcast as NumPy does. Nothing here is ever
    executed or lowered further.

    Values are builtin tensors: ranked or not, dims static or dynamic, any MLIR
    element type. Signed integers are signless (`i64`), unsigned ones `ui8`,
    booleans `i1`; strings are `tensor<?x!mp.string>`; a tensor of which even
    the dtype is unknown is `tensor<*x!mp.unknown>`.

    Where an op comes from is its location: a fused location whose metadata is
    `#mp.origin` (node, value names, scope), around Python file and line where
    the model has them.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// The mapped files that `#mp.weight` attributes point into.
    WeightStore &getWeights() { return *weights; }

  private:
    std::shared_ptr<WeightStore> weights;
    void registerTypes();
    void registerAttributes();
    // One per family, so that no unit instantiates every op.
#define MPOPT_FAMILY(Name) void register##Name##Ops();
#include "mpopt/Dialect/Families.inc"
#undef MPOPT_FAMILY
  public:
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class MP_Type<string name, string typeMnemonic> : TypeDef<MP_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def MP_StringType : MP_Type<"String", "string"> {
  let summary = "element type of a tensor of strings";
}
def MP_UnknownType : MP_Type<"Unknown", "unknown"> {
  let summary = "element type of a tensor whose dtype is not known";
}
def MP_SequenceType : MP_Type<"Sequence", "sequence"> {
  let summary = "a list of values of one type";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def MP_OptionalType : MP_Type<"Optional", "optional"> {
  let summary = "a value or nothing";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def MP_MapType : MP_Type<"Map", "map"> {
  let summary = "a dictionary (ONNX maps, from ai.onnx.ml)";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}

def MP_Tensor : AnyTypeOf<[AnyRankedTensor, AnyUnrankedTensor], "tensor">;
// Tensors by kind of element; an unknown dtype passes everywhere.
def MP_UnknownElement : Type<
  CPred<"::llvm::isa<::mpopt::mp::UnknownType>($_self)">, "unknown">;
def MP_NumericTensor :
  TensorOf<[AnyFloat, AnyInteger, AnyComplex, MP_UnknownElement]>;
def MP_FloatTensor : TensorOf<[AnyFloat, AnyComplex, MP_UnknownElement]>;
def MP_IntegerTensor : TensorOf<[AnyInteger, MP_UnknownElement]>;
def MP_BoolTensor : TensorOf<[I1, MP_UnknownElement]>;
def MP_Value : AnyTypeOf<
  [AnyRankedTensor, AnyUnrankedTensor, MP_SequenceType, MP_OptionalType,
   MP_MapType], "tensor, sequence, optional or map">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class MP_Attr<string name, string attrMnemonic> : AttrDef<MP_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def MP_OriginAttr : MP_Attr<"Origin", "origin"> {
  let summary = "the model node an op was imported from";
  let description = [{
    Metadata of the op's fused location. `node` is the node's name (never empty
    after import: unnamed nodes are called after their type and number), `type`
    the op type in the model's own words (`LayerNormalization`,
    `com.microsoft::Attention`), `scope` the path of graph, function and branch
    that holds it, `values` the model's name of each result, empty for values
    that the model does not have.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$node, "::mlir::StringAttr":$type,
    "::mlir::StringAttr":$scope,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$values);
  let assemblyFormat = [{
    `<` $node `,` $type `,` $scope (`,` `[` $values^ `]`)? `>`
  }];
}

def MP_WeightAttr : MP_Attr<"Weight", "weight"> {
  let summary = "bytes of a tensor that stay in their file";
  let description = [{
    `length` bytes from `offset` of `file`, in little-endian row-major order,
    packed as ONNX packs them (two 4-bit elements a byte, low half first). The
    bytes are mapped by the dialect's `WeightStore` when somebody looks.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$file, "int64_t":$offset, "int64_t":$length);
  let assemblyFormat = "`<` $file `,` $offset `:` $length `>`";
  let genVerifyDecl = 1;
}

def MP_IdiomAttr : MP_Attr<"Idiom", "idiom"> {
  let summary = "membership in a recognised composite";
  let description = [{
    `kind` is the composite's mp op (`layer_norm`, `softmax`, `gelu`, ...), `id`
    tells its instances apart, `result` is set on the member whose result is the
    composite's.
  }];
  let parameters = (ins "::mlir::StringAttr":$kind, "int64_t":$id, "bool":$result);
  let assemblyFormat = "`<` $kind `,` $id `,` $result `>`";
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class MP_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mpopt::mp";
  let genSpecializedAttr = 0;
}
class MP_EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<MP_Dialect, info, attrMnemonic> {
  // As a bare keyword in declarative formats: `mp.cast policy %x`.
  let assemblyFormat = "`<` $value `>`";
}

def MP_CastOrigin : MP_Enum<"CastOrigin", "the origin of a cast", [
  I32EnumAttrCase<"Model", 0, "model">,         // in the model
  I32EnumAttrCase<"Policy", 1, "policy">,       // the policy's category of its user
  I32EnumAttrCase<"Promotion", 2, "promotion">, // mixed operands, widest wins
  I32EnumAttrCase<"Storage", 3, "storage">      // a whole-model conversion
]>;
// Words of string attributes (`mode`, `reduction`, ...), for `symbolize...`.
def MP_ScatterReduction : MP_Enum<"ScatterReduction", "how updates are put", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Add", 1, "add">,
  I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Max", 3, "max">,
  I32EnumAttrCase<"Min", 4, "min">]>;
def MP_Interpolation : MP_Enum<"Interpolation", "between elements", [
  I32EnumAttrCase<"Nearest", 0, "nearest">, I32EnumAttrCase<"Linear", 1, "linear">,
  I32EnumAttrCase<"Cubic", 2, "cubic">]>;
def MP_NearestMode : MP_Enum<"NearestMode", "which element is nearest", [
  I32EnumAttrCase<"RoundPreferFloor", 0, "round_prefer_floor">,
  I32EnumAttrCase<"RoundPreferCeil", 1, "round_prefer_ceil">,
  I32EnumAttrCase<"Floor", 2, "floor">, I32EnumAttrCase<"Ceil", 3, "ceil">]>;
def MP_PadMode : MP_Enum<"PadMode", "what is put around a tensor", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Edge", 2, "edge">, I32EnumAttrCase<"Wrap", 3, "wrap">]>;
def MP_CacheMode : MP_Enum<"CacheMode", "where a cache is written", [
  I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Circular", 1, "circular">]>;
def MP_GeluForm : MP_Enum<"GeluForm", "how a GELU is computed", [
  I32EnumAttrCase<"Exact", 0, "none">, I32EnumAttrCase<"Tanh", 1, "tanh">]>;
def MP_RegionMode : MP_Enum<"RegionMode", "what is taken of samples", [
  I32EnumAttrCase<"Average", 0, "avg">, I32EnumAttrCase<"Max", 1, "max">]>;
def MP_Direction : MP_Enum<"Direction", "of a recurrent network", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Reverse", 1, "reverse">,
  I32EnumAttrCase<"Both", 2, "bidirectional">]>;
def MP_CellActivation : MP_Enum<"CellActivation", "of a simple recurrent cell", [
  I32EnumAttrCase<"Tanh", 0, "tanh">, I32EnumAttrCase<"Relu", 1, "relu">]>;
def MP_GatherKind : MP_Enum<"GatherKind", "which gather a gradient is of", [
  I32EnumAttrCase<"Slices", 0, "gather">, I32EnumAttrCase<"Elements", 1, "elements">,
  I32EnumAttrCase<"Tuples", 2, "nd">]>;
def MP_CastOriginAttr : MP_EnumAttr<MP_CastOrigin, "cast_origin">;

//===----------------------------------------------------------------------===//
// Op base
//===----------------------------------------------------------------------===//

// One framework's names, returned from getStaticNames.
class MP_FrameworkNames<string framework, list<string> names> {
  string quoted = !interleave(!foreach(n, names, "\"" # n # "\""), ", ");
  string body = !if(!empty(names), "",
    "      static const ::llvm::StringRef k" # framework # "[] = " # "{" # quoted # "};\n"
    # "      if (framework == ::mpopt::Framework::" # framework # ")\n"
    # "        return k" # framework # ";\n");
}

// Attribute names, the same in every family:
//   axis (I64Attr), axes (DenseI64ArrayAttr, OptionalAttr if "all" or dynamic),
//   keep_dims (BoolAttr), epsilon and other numbers (F64Attr), group (I64Attr),
//   strides, dilations, kernel_shape, pads (DenseI64ArrayAttr; pads as all begins
//   then all ends), auto_pad ("NOTSET" ...) resolved at import where dims are
//   known, mode (StrAttr). Axes may be negative.
// Discardable attributes. On ops, from importers:
//   mp.arg_names      names of the block arguments of the op's regions, a list
//   mp.autocast       the dtype of the autocast region the op is in; false where
//                     autocast is switched off
//   mp.kernel         unit: one of the framework's kernels, which no list of a
//                     policy names
//   mp.listed_as      the name by which lists are asked instead of the op's own
//   mp.keeps          number of the operand whose dtype the result keeps
//   mp.omitted_inputs numbers of inputs that an opaque op's node leaves out
// on arguments and results of functions:
//   mp.name           the model's name
//   mp.dim_params     names of an input's symbolic dimensions, a list
//   mp.assume         what is taken for granted of an input (RangeAnalysis.h)
// and on the module: mp.format ("onnx"), mp.nodes and mp.parameters (integers),
// mp.autocast_device ("cpu"), and mp.coverage, mp.warnings and mp.places, which
// the TorchScript helper leaves for its caller (HelperProtocol.h).
// From passes, on ops:
//   mp.category       the op's category under the policy ("fp32", "lower", ...)
//   mp.idiom          #mp.idiom of a composite the op is a member of
//   mp.kept           unit: a fix keeps the op in f32
// on functions that were differentiated:
//   mp.lacks_gradient numbers of ops, by name, that a gradient did not pass
//   mp.detached       names of parameters and inputs that no gradient reaches
// and on the module: mp.precision, mp.policy (strings), mp.low_type (a type).
// From a request, on the module: mp.thresholds, mp.target; and mp.trial on
// copies (Settings.h).

// Every op of the dialect. `roles` and the fields behind it say what the op means
// (see Roles.td): `divisor` is the index of the operand that it divides by,
// `gradientOf` the mnemonic of the op whose gradients it computes. Where scaling
// operand 0 by c > 0 scales the results by c^d, `degree` is d ("1", "-0.5"); where
// `epsilon` has to be scaled by c^e for that, `epsilonDegree` is e.
//
// `torch`, `tensorflow` and `onnx` are its names in the policy tables (see
// PrecisionOpInterface); an op whose name depends on its attributes sets
// `staticNames = 0` and defines getFrameworkNames itself. Importers make a
// function of one number of the nodes of these names (Import/FunctionOps.h).
class MP_Op<string mnemonic, list<Trait> traits = []>
    : Op<MP_Dialect, mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<TypeInferenceOpInterface>,
        DeclareOpInterfaceMethods<PrecisionOpInterface>,
        DeclareOpInterfaceMethods<OpMeaningInterface>])> {
  list<MP_Role> roles = [];
  int divisor = -1;
  string gradientOf = "";
  string degree = "";
  int epsilonDegree = 0;
  list<string> torch = [];
  list<string> tensorflow = [];
  list<string> onnx = [];
  bit staticNames = 1;
  // More declarations and definitions than the ones below.
  code moreDeclarations = "";
  code moreDefinitions = "";

  let assemblyFormat =
    "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = moreDeclarations # !if(staticNames, [{
    /// The names that the record has for the framework.
    static ::llvm::ArrayRef<::llvm::StringRef>
    getStaticNames(::mpopt::Framework framework);
  }], "");
  let extraClassDefinition = [{
    const ::mpopt::OpMeaning &$cppClass::getMeaning() {
  }] # MP_Meaning<roles, divisor, gradientOf, degree, epsilonDegree>.body # [{
    }
  }] # !if(staticNames, [{
    ::llvm::ArrayRef<::llvm::StringRef>
    $cppClass::getFrameworkNames(::mpopt::Framework framework) {
      return getStaticNames(framework);
    }
    ::llvm::ArrayRef<::llvm::StringRef>
    $cppClass::getStaticNames(::mpopt::Framework framework) {
  }] # MP_FrameworkNames<"PyTorch", torch>.body
     # MP_FrameworkNames<"TensorFlow", tensorflow>.body
     # MP_FrameworkNames<"Onnx", onnx>.body # [{
      return ::llvm::ArrayRef<::llvm::StringRef>();
    }
  }], "") # moreDefinitions;
}

#endif // MPOPT_DIALECT_MPDIALECT_TD
