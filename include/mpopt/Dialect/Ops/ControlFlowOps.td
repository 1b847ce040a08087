//===- ControlFlowOps.td - Branches, loops and their yield -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_CONTROLFLOWOPS_TD
#define MPOPT_DIALECT_OPS_CONTROLFLOWOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mpopt/Dialect/MPDialect.td"
include "mpopt/Dialect/Interfaces/RegionTypes.td"

// Bodies are regions of one block that ends in mp.yield. They read outer values
// directly; what changes from iteration to iteration is a block argument.

def MP_YieldOp : MP_Op<"yield", [Pure, Terminator,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]> {
  let summary = "what a body gives back";
  let description = [{
    Its operands are the op's own matter: the results of a branch; of a loop the
    condition to go on, the carried values and one slice of each scan output.
  }];
  let arguments = (ins Variadic<MP_Value>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let hasVerifier = 1;
  let moreDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        const ::mpopt::ShapeFacts &, ::llvm::SmallVectorImpl<::mlir::Type> &) {
      return ::mlir::success();
    }
  }];
}

def MP_IfOp : MP_Op<"if", [RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<RegionBranchOpInterface,
      ["getEntrySuccessorRegions", "areTypesCompatible"]>]> {
  let summary = "one of two bodies";
  let description = [{
    The results are what the body yields that runs. Their types are the join of
    both bodies' types, or one body's if the condition is a known constant.

    ```mlir
    %r = mp.if %c : (tensor<i1>) -> tensor<?xf32> {
      mp.yield %a : tensor<4xf32>
    } else {
      mp.yield %b : tensor<5xf32>
    }
    ```
    Source: ONNX If.
  }];
  let arguments = (ins MP_Tensor:$condition);
  let results = (outs Variadic<MP_Value>:$outputs);
  let regions = (region SizedRegion<1>:$then_body, SizedRegion<1>:$else_body);
  let tensorflow = ["If"];
  let onnx = ["If"];
  let assemblyFormat = [{
    $condition attr-dict `:` functional-type(operands, results)
    $then_body `else` $else_body
  }];
  let hasRegionVerifier = 1;
  let moreDeclarations = [{
    bool isPrecisionOperand(unsigned) { return false; }
  }];
}

// Loops whose body gets some of the op's operands as block arguments and gives
// them back changed.
class MP_LoopLikeOp<string mnemonic>
    : MP_Op<mnemonic, [AttrSizedOperandSegments, RecursiveMemoryEffects,
        DeclareOpInterfaceMethods<RegionTypeOpInterface>,
        DeclareOpInterfaceMethods<RegionBranchOpInterface,
          ["getEntrySuccessorOperands", "areTypesCompatible"]>]> {
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def MP_LoopOp : MP_LoopLikeOp<"loop"> {
  let summary = "a body that runs a number of times, or while a condition holds";
  let description = [{
    The body's arguments are the iteration number (i64, from 0), the condition
    (i1) and the carried values; it yields the next condition, the next carried
    values and one slice of each scan output. It runs `trip_count` times at most
    (without it, forever) and while the condition holds; without `while` the
    yielded condition is ignored. Results: the last carried values, then the
    slices of every iteration stacked along a new axis 0.

    ```mlir
    %r:2 = mp.loop count %n iter(%x)
        : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
      %y = mp.exp %v : (tensor<4xf32>) -> tensor<4xf32>
      mp.yield %go, %y, %y : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    ```
    Source: ONNX Loop.
  }];
  let arguments = (ins Optional<MP_Tensor>:$trip_count,
    Optional<MP_Tensor>:$condition, Variadic<MP_Value>:$initial);
  let results = (outs Variadic<MP_Value>:$outputs);
  let tensorflow = ["While"];
  let onnx = ["Loop"];
  let assemblyFormat = [{
    (`count` $trip_count^)? (`while` $condition^)? `iter` `(` $initial `)`
    attr-dict `:` functional-type(operands, results) $body
  }];
  let moreDeclarations = [{
    /// Number of iterations if it is known.
    std::optional<int64_t> getKnownTripCount(const ::mpopt::ShapeFacts &facts);

    /// True if the body never yields false.
    bool keepsRunning(const ::mpopt::ShapeFacts &facts);
    bool isPrecisionOperand(unsigned index);
  }];
}

def MP_ScanOp : MP_LoopLikeOp<"scan"> {
  let summary = "a body that runs over the slices of tensors";
  let description = [{
    The body's arguments are the states, then one slice of each scanned tensor
    along its axis, which is gone; it yields the next states and one slice of
    each scan output. Results: the last states, then the stacked slices. Axes and
    directions (1 = from the end) are one a scanned tensor or scan output, or
    empty for 0.

    `batched` is the form of ONNX opset 8: axis 0 of every operand and result is
    a batch that the body does not see, axis 1 the scanned one, and `lengths`
    may bound the iterations of each batch element.

    ```mlir
    %r:2 = mp.scan states(%s) over(%x)
        : (tensor<4xf32>, tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>) {
    ^bb0(%state: tensor<4xf32>, %slice: tensor<4xf32>):
      %y = mp.add %state, %slice : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      mp.yield %y, %y : tensor<4xf32>, tensor<4xf32>
    }
    ```
    Source: ONNX Scan.
  }];
  let arguments = (ins Optional<MP_Tensor>:$lengths,
    Variadic<MP_Value>:$initial, Variadic<MP_Tensor>:$inputs,
    OptionalAttr<DenseI64ArrayAttr>:$input_axes,
    OptionalAttr<DenseI64ArrayAttr>:$input_directions,
    OptionalAttr<DenseI64ArrayAttr>:$output_axes,
    OptionalAttr<DenseI64ArrayAttr>:$output_directions, UnitAttr:$batched);
  let results = (outs Variadic<MP_Value>:$outputs);
  let onnx = ["Scan"];
  let assemblyFormat = [{
    (`lengths` $lengths^)? `states` `(` $initial `)` `over` `(` $inputs `)`
    attr-dict `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
  let moreDeclarations = [{
    /// Axis of scanned tensor or scan output `index`.
    int64_t getInputAxis(unsigned index);
    int64_t getOutputAxis(unsigned index);
    bool isPrecisionOperand(unsigned index);
  }];
}

#endif // MPOPT_DIALECT_OPS_CONTROLFLOWOPS_TD
