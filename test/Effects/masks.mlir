// A mask takes from a row at most what tells its scores apart, however large it
// is: PyTorch's is the lowest number of FP32.
// RUN: split-file %s %t
// RUN: mpopt --check %t/lowest.mlir --precision fp16 --input keep=0:1 | FileCheck %s
// RUN: mpopt --check %t/ten-thousand.mlir --precision fp16 --input keep=0:1 | FileCheck %s
// RUN: mpopt --check %t/hundred.mlir --precision fp16 --input keep=0:1 | FileCheck %s --check-prefix HUNDRED
// RUN: mpopt --check %t/sigmoid.mlir --precision fp16 | FileCheck %s --check-prefix SIGMOID
// RUN: mpopt --check %t/product.mlir --format json | FileCheck %s --check-prefix PRODUCT

// Swin's masks are -100: e^-100 is nothing beside 1, and neither are roundings of
// the scores there.
// HUNDRED: is expected to change `result` by 0.0{{.*}}fine

// A logistic function of masked scores is 0 there, as it is at -Inf.
// SIGMOID: is expected to change `result` by 0.0{{.*}}fine

// A number times 0 or 1 is as exact as the number.
// PRODUCT: "expected_error": 0,

// CHECK: is expected to change `result` by 0.{{.*}}fine
// CHECK-NOT: error

//--- lowest.mlir
func.func @main(%q: tensor<4x64x32xf32>, %keep: tensor<4x1x64xi1> {mp.name = "keep"}) -> (tensor<4x64x64xf32> {mp.name = "result"}) {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %lowest = mp.constant dense<-3.40282347e+38> : tensor<f32>
  %scale = mp.constant dense<0.1> : tensor<f32>
  %m = mp.where %keep, %zero, %lowest : (tensor<4x1x64xi1>, tensor<f32>, tensor<f32>) -> tensor<4x1x64xf32>
  %s = mp.matmul %q, %q {trans_b = true} : (tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x64xf32>
  %t = mp.mul %s, %scale : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64x64xf32>
  %a = mp.add %t, %m : (tensor<4x64x64xf32>, tensor<4x1x64xf32>) -> tensor<4x64x64xf32>
  %p = mp.softmax %a {axis = -1 : i64} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %p : tensor<4x64x64xf32>
}

//--- ten-thousand.mlir
func.func @main(%q: tensor<4x64x32xf32>, %keep: tensor<4x1x64xi1> {mp.name = "keep"}) -> (tensor<4x64x64xf32> {mp.name = "result"}) {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %lowest = mp.constant dense<-1.0e4> : tensor<f32>
  %scale = mp.constant dense<0.1> : tensor<f32>
  %m = mp.where %keep, %zero, %lowest : (tensor<4x1x64xi1>, tensor<f32>, tensor<f32>) -> tensor<4x1x64xf32>
  %s = mp.matmul %q, %q {trans_b = true} : (tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x64xf32>
  %t = mp.mul %s, %scale : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64x64xf32>
  %a = mp.add %t, %m : (tensor<4x64x64xf32>, tensor<4x1x64xf32>) -> tensor<4x64x64xf32>
  %p = mp.softmax %a {axis = -1 : i64} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %p : tensor<4x64x64xf32>
}

//--- hundred.mlir
func.func @main(%q: tensor<4x64x32xf32>, %keep: tensor<4x1x64xi1> {mp.name = "keep"}) -> (tensor<4x64x64xf32> {mp.name = "result"}) {
  %zero = mp.constant dense<0.0> : tensor<f32>
  %lowest = mp.constant dense<-100.0> : tensor<f32>
  %scale = mp.constant dense<0.1> : tensor<f32>
  %m = mp.where %keep, %zero, %lowest : (tensor<4x1x64xi1>, tensor<f32>, tensor<f32>) -> tensor<4x1x64xf32>
  %s = mp.matmul %q, %q {trans_b = true} : (tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x64xf32>
  %t = mp.mul %s, %scale : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64x64xf32>
  %a = mp.add %t, %m : (tensor<4x64x64xf32>, tensor<4x1x64xf32>) -> tensor<4x64x64xf32>
  %p = mp.softmax %a {axis = -1 : i64} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %p : tensor<4x64x64xf32>
}

//--- product.mlir
func.func @main(%x: tensor<64x16xf16>, %m: tensor<64x1xi1>) -> (tensor<64x16xf16> {mp.name = "result"}) {
  %one = mp.constant dense<1.0> : tensor<f16>
  %k = mp.cast %m : (tensor<64x1xi1>) -> tensor<64x1xf16>
  %n = mp.sub %one, %k : (tensor<f16>, tensor<64x1xf16>) -> tensor<64x1xf16>
  %0 = mp.mul %x, %n : (tensor<64x16xf16>, tensor<64x1xf16>) -> tensor<64x16xf16>
  return %0 : tensor<64x16xf16>
}

//--- sigmoid.mlir
func.func @main(%q: tensor<4x4x32xf32>) -> (tensor<4x4x4xf32> {mp.name = "result"}) {
  %m = mp.constant dense<[[0.0, -3.40282e38, -3.40282e38, -3.40282e38], [0.0, 0.0, -3.40282e38, -3.40282e38], [0.0, 0.0, 0.0, -3.40282e38], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %scale = mp.constant dense<0.1> : tensor<f32>
  %s = mp.matmul %q, %q {trans_b = true} : (tensor<4x4x32xf32>, tensor<4x4x32xf32>) -> tensor<4x4x4xf32>
  %t = mp.mul %s, %scale : (tensor<4x4x4xf32>, tensor<f32>) -> tensor<4x4x4xf32>
  %a = mp.add %t, %m : (tensor<4x4x4xf32>, tensor<4x4xf32>) -> tensor<4x4x4xf32>
  %p = mp.sigmoid %a : (tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
  return %p : tensor<4x4x4xf32>
}
