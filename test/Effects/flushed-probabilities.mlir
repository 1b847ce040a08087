// Most probabilities of steep rows become 0 in f16, and all are rounded. What becomes 0 is far
// below what rounds: its finding has its effect alone where products read the probabilities. A
// root needs the small ones.
// RUN: mpopt --check %s --precision as-is --input x=-60:60 --input x~0,16 --fail-on never --format json | FileCheck %s

// CHECK:      "rule": "MP213"
// CHECK:      "effect":
// CHECK-NEXT: "output": "z"
// CHECK-NEXT: "expected_error": 0.000{{[1-9]}}
// CHECK:      "rule": "MP213"
// CHECK:      "effect":
// CHECK-NEXT: "output": "y"
// CHECK-NEXT: "expected_error": {{[0-9.]+}}e-0
func.func @main(%x: tensor<64x16xf32> {mp.name = "x"}) -> (tensor<64x4xf16> {mp.name = "y"}, tensor<64x16xf16> {mp.name = "z"}) {
  %p = mp.softmax %x {axis = -1 : i64} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %h = mp.cast %p : (tensor<64x16xf32>) -> tensor<64x16xf16>
  %w = mp.constant dense<[[100.00, 101.25, 100.50, 101.75], [100.75, 100.00, 101.25, 100.50], [101.50, 100.75, 100.00, 101.25], [100.25, 101.50, 100.75, 100.00], [101.00, 100.25, 101.50, 100.75], [101.75, 101.00, 100.25, 101.50], [100.50, 101.75, 101.00, 100.25], [101.25, 100.50, 101.75, 101.00], [100.00, 101.25, 100.50, 101.75], [100.75, 100.00, 101.25, 100.50], [101.50, 100.75, 100.00, 101.25], [100.25, 101.50, 100.75, 100.00], [101.00, 100.25, 101.50, 100.75], [101.75, 101.00, 100.25, 101.50], [100.50, 101.75, 101.00, 100.25], [101.25, 100.50, 101.75, 101.00]]> : tensor<16x4xf16>
  %middle = mp.constant dense<100.9> : tensor<f16>
  %0 = mp.matmul %h, %w : (tensor<64x16xf16>, tensor<16x4xf16>) -> tensor<64x4xf16>
  %1 = mp.sub %0, %middle : (tensor<64x4xf16>, tensor<f16>) -> tensor<64x4xf16>
  %q = mp.softmax %x {axis = -1 : i64} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %l = mp.cast %q : (tensor<64x16xf32>) -> tensor<64x16xf16>
  %2 = mp.sqrt %l : (tensor<64x16xf16>) -> tensor<64x16xf16>
  return %1, %2 : tensor<64x4xf16>, tensor<64x16xf16>
}
