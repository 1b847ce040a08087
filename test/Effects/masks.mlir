// A mask takes from a row at most what tells its scores apart, however large it
// is: PyTorch's is the lowest number of FP32.
// RUN: split-file %s %t
// RUN: mpopt --check %t/lowest.mlir --precision fp16 --input keep=0:1 | FileCheck %s
// RUN: mpopt --check %t/ten-thousand.mlir --precision fp16 --input keep=0:1 | FileCheck %s

// CHECK: is expected to move `result` by 0.{{.*}}fine
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
