// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs" --verify-diagnostics | FileCheck %s

// The branch that runs is computed again, its gradient behind it.
// CHECK-LABEL: func.func @branch
// CHECK: %[[Y:.*]] = mp.if %arg1
// CHECK: } else {
// CHECK: %[[G:.*]] = mp.if %arg1 : (tensor<i1>) -> tensor<4xf32> {
// CHECK-NEXT: %[[E:.*]] = mp.exp %arg0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[P:.*]] = mp.mul %arg2, %[[E]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: mp.yield %[[P]] : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: mp.yield %arg2 : tensor<4xf32>
// CHECK: return %[[Y]], %[[G]] : tensor<4xf32>, tensor<4xf32>
func.func @branch(%x: tensor<4xf32> {mp.name = "x"}, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = mp.if %c : (tensor<i1>) -> tensor<4xf32> {
    %1 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    mp.yield %1 : tensor<4xf32>
  } else {
    mp.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// An op that lacks a gradient is named and counted; the other path has its own.
// CHECK-LABEL: func.func @lacking
// CHECK-SAME: "grad(x)"
// CHECK-SAME: mp.lacks_gradient = {"com.acme::Foo" = 2 : i64}
func.func @lacking(%x: tensor<4xf32> {mp.name = "x"}) -> tensor<4xf32> {
  // expected-remark @below {{lacks a gradient}}
  %0 = mp.opaque "com.acme::Foo"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{lacks a gradient}}
  %1 = mp.opaque "com.acme::Foo"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mp.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mp.mul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @detached
// CHECK-SAME: mp.detached = ["z"]
func.func @detached(%x: tensor<4xf32> {mp.name = "x"}, %z: tensor<4xf32> {mp.name = "z"}) -> tensor<4xf32> {
  %0 = mp.greater %x, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = mp.where %0, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
