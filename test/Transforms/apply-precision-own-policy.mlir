// RUN: echo '{"name": "mine", "kind": "autocast", "framework": "pytorch", "categories": {"fp32": ["tanh"], "lower_precision_fp": ["exp"]}}' > %t.json
// RUN: mpopt-opt --mp-apply-precision="mode=autocast-fp16 policy=%t.json" %s | FileCheck %s

// CHECK: mp.policy = "mine"
// CHECK: mp.tanh {{%.+}} {mp.category = "fp32"} : (tensor<4xf32>)
// CHECK: mp.exp {{%.+}} {mp.category = "lower"} : (tensor<4xf16>)
func.func @f(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = mp.tanh %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = mp.exp %0 : (tensor<4xf16>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}
