//===- ReductionOps.td - Reductions, scans and selections along axes -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_REDUCTIONOPS_TD
#define MPOPT_DIALECT_OPS_REDUCTIONOPS_TD

include "mpopt/Dialect/MPDialect.td"

defvar MP_ElementInference = DeclareOpInterfaceMethods<ElementInferenceOpInterface>;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

// Over `axes`, over the elements of `dynamic_axes` where they are not constant,
// or over all axes without either (and with empty `axes`).
class MP_ReduceOp<string mnemonic, string formula, list<string> torchNames,
                  list<string> tensorflowNames, list<string> onnxNames,
                  list<Trait> traits = [], dag attributes = (ins),
                  Type operand = MP_NumericTensor, Type result = operand,
                  string element = "::mpopt::getElementType(getInput())">
    : MP_Op<mnemonic, !listconcat([Pure], traits)> {
  let summary = formula;
  let description = [{
    Over `axes`, over the axes in the operand `dynamic_axes`, or over all if
    there is neither or the list is empty. Reduced dims stay as 1 with
    `keep_dims`.

    ```mlir
    %0 = mp.reduce_sum %x {axes = array<i64: 1>, keep_dims = true}
           : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %1 = mp.reduce_sum %x axes %a : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
    ```
  }];
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = !con(
    (ins operand:$input, Optional<MP_IntegerTensor>:$dynamic_axes,
         OptionalAttr<DenseI64ArrayAttr>:$axes,
         DefaultValuedAttr<BoolAttr, "false">:$keep_dims), attributes);
  let results = (outs result:$result);
  let assemblyFormat = [{
    $input (`axes` $dynamic_axes^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &facts,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mpopt::inferReduction(*this, getInput(), getAxes(),
          getDynamicAxes(), getKeepDims(), facts, }] # element # [{, types);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mpopt::verifyReduction(*this, getInput(), getAxes(),
          getDynamicAxes());
    }
  }];
}

defvar MP_I1 = "::mlir::IntegerType::get(getContext(), 1)";
defvar MP_I64 = "::mlir::IntegerType::get(getContext(), 64)";

let roles = [RoleReduction, RoleSum], degree = "1" in
def MP_ReduceSumOp : MP_ReduceOp<"reduce_sum", "sum of x",
  ["sum.dim_IntList", "sum"], ["Sum"], ["ReduceSum"], [MP_ElementInference]>;
let roles = [RoleReduction, RoleSum, RoleMean], degree = "1" in
def MP_ReduceMeanOp : MP_ReduceOp<"reduce_mean", "mean of x",
  ["mean.dim", "mean"], ["Mean"], ["ReduceMean"]>;
let roles = [RoleReduction, RolePicks, RoleMaskable], degree = "1" in
def MP_ReduceMaxOp : MP_ReduceOp<"reduce_max", "the largest, NaN if one is",
  ["amax"], ["Max"], ["ReduceMax"], [MP_ElementInference]>;
let roles = [RoleReduction, RolePicks], degree = "1" in
def MP_ReduceMinOp : MP_ReduceOp<"reduce_min", "the smallest, NaN if one is",
  ["amin"], ["Min"], ["ReduceMin"], [MP_ElementInference]>;
let roles = [RoleReduction, RoleLongProduct, RoleNeverZero] in
def MP_ReduceProdOp : MP_ReduceOp<"reduce_prod", "product of x",
  ["prod.dim_int", "prod"], ["Prod"], ["ReduceProd"], [MP_ElementInference]>;

// Norms and sums of functions.
let roles = [RoleReduction, RoleMagnitudeSum], degree = "1" in
def MP_ReduceL1Op : MP_ReduceOp<"reduce_l1", "sum of |x|",
  ["linalg_vector_norm", "norm.ScalarOpt_dim", "norm.Scalar"], [], ["ReduceL1"]>;
let roles = [RoleReduction, RoleMagnitudeSum, RoleInnerSquares], degree = "1" in
def MP_ReduceL2Op : MP_ReduceOp<"reduce_l2", "sqrt(sum of x^2)",
  ["linalg_vector_norm", "norm.ScalarOpt_dim", "norm.Scalar",
   "frobenius_norm.dim"], ["EuclideanNorm"], ["ReduceL2"]>;
let roles = [RoleReduction, RoleMagnitudeSum, RoleSumOfSquares], degree = "2" in
def MP_ReduceSumSquareOp : MP_ReduceOp<"reduce_sum_square", "sum of x^2",
  ["sum.dim_IntList", "sum"], [], ["ReduceSumSquare"]>;
let roles = [RoleReduction, RoleSum] in
def MP_ReduceLogSumOp : MP_ReduceOp<"reduce_log_sum", "log(sum of x)",
  ["log"], ["Log"], ["ReduceLogSum"]>;
let roles = [RoleReduction, RoleExponentialSum, RoleInnerExponential,
    RoleMaskable] in
def MP_ReduceLogSumExpOp : MP_ReduceOp<"reduce_log_sum_exp", "log(sum of e^x)",
  ["logsumexp"], ["Exp"], ["ReduceLogSumExp"]>;
def MP_NormOp : MP_ReduceOp<"norm", "(sum of |x|^ord)^(1/ord)",
  ["linalg_vector_norm", "norm.ScalarOpt_dim", "norm.Scalar"], [], [], [],
  (ins DefaultValuedAttr<F64Attr, "2.0">:$ord), MP_FloatTensor> {
  let roles = [RoleReduction, RoleMagnitudeSum, RoleInnerSquares];
  let degree = "1";
  let description = [{
    PyTorch's linalg.vector_norm: `ord` may be Inf (largest |x|), -Inf (smallest)
    and 0 (number of elements that are not 0). Axes as in `mp.reduce_sum`.
  }];
}

// Statistics. The divisor is the number of elements less `correction`.
let roles = [RoleReduction, RoleStatistic, RoleInnerSquares], degree = "2" in
def MP_VarianceOp : MP_ReduceOp<"variance", "mean of (x - mean(x))^2",
  ["var.correction", "var.dim", "var"], [], [], [],
  (ins DefaultValuedAttr<F64Attr, "1.0">:$correction), MP_FloatTensor>;
let roles = [RoleReduction, RoleStatistic, RoleInnerSquares], degree = "1" in
def MP_StdOp : MP_ReduceOp<"std", "square root of the variance",
  ["std.correction", "std.dim", "std"], [], [], [],
  (ins DefaultValuedAttr<F64Attr, "1.0">:$correction), MP_FloatTensor>;

// Truth values.
let roles = [RoleReduction] in
def MP_ReduceAllOp : MP_ReduceOp<"reduce_all", "whether all are not 0",
  ["all.dim", "all"], ["All"], [], [], (ins), MP_NumericTensor, MP_BoolTensor,
  MP_I1>;
let roles = [RoleReduction] in
def MP_ReduceAnyOp : MP_ReduceOp<"reduce_any", "whether any is not 0",
  ["any.dim", "any"], ["Any"], [], [], (ins), MP_NumericTensor, MP_BoolTensor,
  MP_I1>;
let roles = [RoleReduction, RoleCounting] in
def MP_CountNonzeroOp : MP_ReduceOp<"count_nonzero", "how many are not 0",
  ["count_nonzero.dim_IntList", "count_nonzero"], [], [], [], (ins),
  MP_NumericTensor, MP_IntegerTensor, MP_I64>;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

// Over all elements without `axis`.
class MP_ArgOp<string mnemonic, string text, list<string> torchNames,
               list<string> tensorflowNames, list<string> onnxNames>
    : MP_Op<mnemonic, [Pure]> {
  let summary = text;
  let description = [{
    Along `axis`, or in the flattened tensor without it; of equal elements the
    first, or the last with `select_last_index`. The result is `i64`.
  }];
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = (ins MP_NumericTensor:$input, OptionalAttr<I64Attr>:$axis,
    DefaultValuedAttr<BoolAttr, "false">:$keep_dims,
    UnitAttr:$select_last_index);
  let results = (outs MP_IntegerTensor:$result);
  let hasVerifier = 1;
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &facts,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      ::std::optional<int64_t> axis = getAxis();
      return ::mpopt::inferReduction(*this, getInput(),
          axis ? ::llvm::ArrayRef<int64_t>(*axis) : ::llvm::ArrayRef<int64_t>(),
          {}, getKeepDims(), facts,
          ::mlir::IntegerType::get(getContext(), 64), types);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mpopt::verifyAxis(*this, getInput(), getAxis());
    }
  }];
}

let roles = [RoleCounting] in
def MP_ArgMaxOp : MP_ArgOp<"arg_max", "index of the largest element",
  ["argmax"], ["ArgMax"], ["ArgMax"]>;
let roles = [RoleCounting] in
def MP_ArgMinOp : MP_ArgOp<"arg_min", "index of the smallest element",
  ["argmin"], ["ArgMin"], ["ArgMin"]>;

def MP_TopKOp : MP_Op<"top_k", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "the k largest or smallest elements along an axis";
  let description = [{
    Values in the input's dtype and their indices (`i64`); `k` is an attribute or
    where it is not constant an operand. Not `sorted` means in any order.

    ```mlir
    %v, %i = mp.top_k %x {k = 2 : i64}
               : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
    ```
  }];
  let arguments = (ins MP_NumericTensor:$input,
    Optional<MP_IntegerTensor>:$dynamic_k, OptionalAttr<I64Attr>:$k,
    DefaultValuedAttr<I64Attr, "-1">:$axis,
    DefaultValuedAttr<BoolAttr, "true">:$largest,
    DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs MP_NumericTensor:$values, MP_IntegerTensor:$indices);
  let torch = ["topk"];
  let tensorflow = ["TopKV2", "TopK"];
  let onnx = ["TopK"];
  let assemblyFormat = [{
    $input (`k` $dynamic_k^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
}

def MP_SortOp : MP_Op<"sort", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "the elements in order along an axis";
  let description = [{
    Values in the input's dtype and the indices they come from (`i64`).
  }];
  let arguments = (ins MP_NumericTensor:$input,
    DefaultValuedAttr<I64Attr, "-1">:$axis, UnitAttr:$descending,
    UnitAttr:$stable);
  let results = (outs MP_NumericTensor:$values, MP_IntegerTensor:$indices);
  let torch = ["sort"];
  let hasVerifier = 1;
}

def MP_MedianOp : MP_Op<"median", [Pure]> {
  let roles = [RolePicks];
  let degree = "1";
  let summary = "the lower of the middle elements";
  let description = [{
    Along `axis`, or of the flattened tensor without it (PyTorch): the value and
    its index (`i64`).
  }];
  let arguments = (ins MP_NumericTensor:$input, OptionalAttr<I64Attr>:$axis,
    DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs MP_NumericTensor:$values, MP_IntegerTensor:$indices);
  let torch = ["median.dim", "median"];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

// The result has the input's type.
class MP_ScanOp<string mnemonic, string formula, list<string> torchNames,
                list<string> tensorflowNames, list<string> onnxNames>
    : MP_Op<mnemonic, [Pure]> {
  let summary = formula;
  let description = [{
    Along `axis`, or along the axis in the operand `dynamic_axis`, from the end
    with `reverse`; with `exclusive` an element does not count itself. The result
    has the input's shape and dtype.

    ```mlir
    %0 = mp.cum_sum %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = mp.cum_sum %x axis %a : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
    ```
  }];
  let torch = torchNames;
  let tensorflow = tensorflowNames;
  let onnx = onnxNames;
  let arguments = (ins MP_NumericTensor:$input,
    Optional<MP_IntegerTensor>:$dynamic_axis, OptionalAttr<I64Attr>:$axis,
    UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs MP_NumericTensor:$result);
  let assemblyFormat = [{
    $input (`axis` $dynamic_axis^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned index) { return index == 0; }
  }];
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getInput().getType());
      return ::mlir::success();
    }
    ::llvm::LogicalResult $cppClass::verify() {
      if (bool(getDynamicAxis()) == getAxis().has_value())
        return emitOpError("needs an axis, as attribute or as operand");
      return ::mpopt::verifyAxis(*this, getInput(), getAxis());
    }
  }];
}

let roles = [RoleSum, RoleCounting], degree = "1" in
def MP_CumSumOp : MP_ScanOp<"cum_sum", "sums of the elements so far",
  ["cumsum"], ["Cumsum"], ["CumSum"]>;
let roles = [RoleLongProduct, RoleNeverZero] in
def MP_CumProdOp : MP_ScanOp<"cum_prod", "products of the elements so far",
  ["cumprod"], ["Cumprod"], ["CumProd"]>;

#endif // MPOPT_DIALECT_OPS_REDUCTIONOPS_TD
