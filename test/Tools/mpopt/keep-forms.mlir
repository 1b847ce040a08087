// One list in the form of each converter and runtime: names of nodes or of the
// tensors that they make, as patterns where they are patterns.
// DEFINE: %{keep} = mpopt --check %s --precision fp16 --input x=0:1 --input x~0.5,0.1 --fail-on never -o %t/report --keep-fp32
// RUN: rm -rf %t && mkdir %t
// RUN: %{keep} %t/k.autocast.txt && FileCheck %s --check-prefix=AUTOCAST < %t/k.autocast.txt
// RUN: %{keep} %t/k.ort.json && FileCheck %s --check-prefix=BLOCK < %t/k.ort.json
// RUN: %{keep} %t/k.occ.json && FileCheck %s --check-prefix=BLOCK < %t/k.occ.json
// RUN: %{keep} %t/k.trt.json && FileCheck %s --check-prefix=TRT < %t/k.trt.json
// RUN: %{keep} %t/k.openvino.json && FileCheck %s --check-prefix=OPENVINO < %t/k.openvino.json
// RUN: %{keep} %t/k.coreml.json && FileCheck %s --check-prefix=COREML < %t/k.coreml.json
// RUN: %{keep} %t/k.litert.json && FileCheck %s --check-prefix=LITERT < %t/k.litert.json
// RUN: %{keep} %t/k.ort-quant.json && FileCheck %s --check-prefix=QUANT < %t/k.ort-quant.json
// RUN: %{keep} %t/k.modelopt.json && FileCheck %s --check-prefix=MODELOPT < %t/k.modelopt.json
// RUN: %{keep} %t/k.nncf.json && FileCheck %s --check-prefix=NNCF < %t/k.nncf.json
// RUN: %{keep} %t/k.qnn.json && FileCheck %s --check-prefix=QNN < %t/k.qnn.json

// QUANT: "nodes_to_exclude": [
// QUANT-NEXT: "a.sum",
// QUANT-NEXT: "a/log"
// QUANT-NEXT: ]

// MODELOPT: "nodes_to_exclude": [
// MODELOPT-NEXT: "a\\.sum$",
// MODELOPT-NEXT: "a/log$"
// MODELOPT-NEXT: ]

// NNCF: "names": [
// NNCF-NEXT: "a.sum",
// NNCF-NEXT: "a/log"
// NNCF-NEXT: ]

// QNN: "activation_encodings": {
// QNN-NEXT: "t(0)": [
// QNN-NEXT: {
// QNN-NEXT: "bitwidth": 32,
// QNN-NEXT: "dtype": "float"
// QNN: "a": [
// QNN: "param_encodings": {}

// AUTOCAST: {{^}}a\.sum${{$}}
// AUTOCAST-NEXT: {{^}}a/log${{$}}
// AUTOCAST-NOT: {{.}}

// BLOCK: "node_block_list": [
// BLOCK-NEXT: "a.sum",
// BLOCK-NEXT: "a/log"
// BLOCK-NEXT: ]

// TRT: "layers": {
// TRT-NEXT: "a.sum": {
// TRT-NEXT: "precision": "float32",
// TRT-NEXT: "outputs": {
// TRT-NEXT: "t(0)": "float32"
// TRT-NEXT: }
// TRT-NEXT: },
// TRT-NEXT: "a/log": {
// TRT-NEXT: "precision": "float32",
// TRT-NEXT: "outputs": {
// TRT-NEXT: "a": "float32"

// OPENVINO: "tensors": [
// OPENVINO-NEXT: "t(0)",
// OPENVINO-NEXT: "a"
// OPENVINO-NEXT: ]

// COREML: "ops": [
// COREML-NEXT: "a.sum",
// COREML-NEXT: "a/log"
// COREML-NEXT: ]

// LITERT: "regex": ".*",
// LITERT: "algorithm_key": "float_casting",
// LITERT: "regex": "(^|;)t\\(0\\);",
// LITERT-NEXT: "operation": "*",
// LITERT-NEXT: "algorithm_key": "no_quantize"
// LITERT: "regex": "(^|;)a;",
// LITERT-NOT: "regex"
func.func @main(%x: tensor<4x16xf32> {mp.name = "x"}) -> (tensor<4x16xf32> {mp.name = "a"}) {
  %e = mp.constant dense<1.0e-8> : tensor<f32>
  %0 = mp.add %x, %e : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"a.sum", "Add", "", ["t(0)"]>>["m":1:1])
  %1 = mp.log %0 : (tensor<4x16xf32>) -> tensor<4x16xf32> loc(fused<#mp.origin<"a/log", "Log", "", ["a"]>>["m":2:1])
  return %1 : tensor<4x16xf32>
}
