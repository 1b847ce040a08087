//===- Interfaces.td - What every mp op can be asked ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_INTERFACES_INTERFACES_TD
#define MPOPT_DIALECT_INTERFACES_INTERFACES_TD

include "mlir/IR/OpBase.td"

def TypeInferenceOpInterface : OpInterface<"TypeInferenceOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    Shape and dtype of the results, from the operands' types, the attributes and
    the operand elements that `facts` knows (a Reshape's target, for example).

    What is not known stays unknown (a dynamic dim, an unranked tensor, the
    element type `!mp.unknown`); it is never guessed. Operands that contradict
    each other are a failure, reported by `emitError` on the op.
  }];
  let methods = [
    InterfaceMethod<"Appends one type per result.",
      "::llvm::LogicalResult", "inferResultTypes",
      (ins "const ::mpopt::ShapeFacts &":$facts,
           "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>,
  ];
}

def ElementInferenceOpInterface : OpInterface<"ElementInferenceOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    Elements of small integer results, computed from known operand elements:
    the arithmetic on shapes that exporters write out (Shape, Gather, Concat,
    Mul, ...). An op without it has unknown result elements.
  }];
  let methods = [
    InterfaceMethod<"The elements of result 0, or nothing if unknown.",
      "::mpopt::Elements", "inferElements",
      (ins "const ::mpopt::ShapeFacts &":$facts)>,
    InterfaceMethod<"The elements of any result, for ops with several.",
      "::mpopt::Elements", "inferElementsOf",
      (ins "unsigned":$index, "const ::mpopt::ShapeFacts &":$facts),
      [{}], [{
        return index == 0 ? $_op.inferElements(facts) : ::mpopt::Elements();
      }]>,
  ];
}

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpopt";
  let description = [{
    What a precision policy must know about an op: its names in the frameworks
    whose tables list it, and which operands it computes with.
  }];
  let methods = [
    InterfaceMethod<[{
      Names under which a framework's tables list the op, most specific first:
      PyTorch's aten names without `aten::` (`softmax.int`), TensorFlow's kernel
      names, ONNX op types. They may depend on attributes.
      }],
      "::llvm::ArrayRef<::llvm::StringRef>", "getFrameworkNames",
      (ins "::mpopt::Framework":$framework)>,
    InterfaceMethod<[{
      Whether a policy may change the dtype of this float operand. False for
      operands that are parameters of the op in a fixed dtype (a Resize's
      scales), for shapes and indices.
      }],
      "bool", "isPrecisionOperand", (ins "unsigned":$index),
      [{}], [{ return true; }]>,
  ];
}

#endif // MPOPT_DIALECT_INTERFACES_INTERFACES_TD
