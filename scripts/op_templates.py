"""Templates of scripts/new-op, to be formatted with the words of an op."""

HEADER = '''//===- {file} - {title}
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

'''

RECORD = '''def MP_{cls}Op : MP_Op<"{mnemonic}", [Pure]> {{
  let roles = []; // what it means, which is how rules find it: Roles.td
  let summary = "(to be written: one line)";
  let description = [{{
    (to be written: formula, shapes, dtypes, source)
  }}];
  let arguments = (ins {arguments});
  let results = (outs MP_Tensor:$result);
{names}}}

'''

FUNCTION_RECORD = '''let roles = []<MP_Role> in // as those above have them: Roles.td
def MP_{cls}Op : MP_UnaryOp<"{mnemonic}", "(to be written: formula)",
  [{torch}], [], [{onnx}]>; // names in PyTorch, TensorFlow, ONNX
'''

INFERENCE = '''
// Nothing is known about the result until its rule is written here.
LogicalResult {cls}Op::inferResultTypes(const ShapeFacts &,
                                        SmallVectorImpl<Type> &types) {{
  types.push_back(getUnknownTensor(getContext()));
  return success();
}}
'''

ONNX = '''static LogicalResult lower{cls}(NodeContext &ctx) {{
  if (failed(ctx.requireInputs({count})))
    return failure();
  ctx.setOutput(0, ctx.make<mp::{cls}Op>({inputs}));
  return success();
}}

'''

ATEN = '''static LogicalResult lower{cls}(NodeContext &context) {{
  Value {values};
  if ({absent})
    return context.unsupported();
  context.setOutput(0, context.make<mp::{cls}Op>({operands}));
  return success();
}}

'''

ATEN_FILE = HEADER + '''#include "mpopt/Import/Aten/Lowering.h"

#include "mpopt/Dialect/Ops/{family}Ops.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

void mpopt::aten::register{family}(LoweringRegistry &registry) {{
}}
'''

TRANSFER = '''// Nothing is said of the result until its bounds are written here.
static void transfer{cls}(mp::{cls}Op, TransferContext &ctx) {{
  ctx.unknown();
}}

'''

TRANSFER_FILE = HEADER + '''#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/{family}Ops.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;

void mpopt::attach{family}Transfers(MLIRContext *context) {{
}}
'''

ROW = '''    {{.name = "{cls}",
     .value = [](const Unary &, double x) -> double {{ return {value}; }},
     .derivative = [](const Unary &, double x) -> double {{ return {slope}; }},
     .facts = {{.margin = kComposite, .kernel = units(16)}}}},
'''

CASE = '''

@ir_case
def {case}(draw):
    for _ in range(2):
        shape = draw.shape()
        draw.op("{mnemonic}", [{boxes}],
                lambda {operands}: {first})  # (to be written: the op in NumPy)
'''

DIALECT_TEST = '''// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @{mnemonic}
func.func @{mnemonic}({arguments}) -> {type} {{
  // CHECK: mp.{mnemonic} %
  %0 = mp.{mnemonic} {values} : ({types}) -> {type}
  return %0 : {type}
}}
'''

ONNX_TEST = '''// RUN: mpopt --emit-mlir %s | FileCheck %s

// CHECK: mp.{mnemonic} %
// CHECK-NOT: mp.opaque
<ir_version: 10, opset_import: ["" : 21{opset}]>
g ({inputs}) => (result)
{{
  result = {node} ({names})
}}
'''

RANGES_TEST = '''// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

func.func @{mnemonic}({assumed}) -> tensor<4xf32> {{
  // expected-remark @below {{{{[-inf, inf] nan +inf -inf}}}}
  %0 = mp.{mnemonic} {values} : ({types}) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}
'''
