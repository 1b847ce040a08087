// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @reading
func.func @reading(%x: tensor<2x?x4xf32>, %i: tensor<3x5xi64>, %t: tensor<100x16xf16>, %e: tensor<2x9x4xi64>, %u: tensor<*xi64>, %n: tensor<2x7x1xi64>) {
  // CHECK: mp.gather {{.*}} {axis = 1 : i64} {{.*}} -> tensor<2x3x5x4xf32>
  %0 = mp.gather %x, %i {axis = 1 : i64} : (tensor<2x?x4xf32>, tensor<3x5xi64>) -> tensor<*xf32>
  // CHECK: mp.gather {{.*}} -> tensor<*xf32>
  %1 = mp.gather %x, %u : (tensor<2x?x4xf32>, tensor<*xi64>) -> tensor<*xf32>
  // CHECK: mp.embedding {{.*}} {padding_index = 0 : i64} {{.*}} -> tensor<3x5x16xf16>
  %2 = mp.embedding %t, %i {padding_index = 0 : i64} : (tensor<100x16xf16>, tensor<3x5xi64>) -> tensor<*xf16>
  // CHECK: mp.gather_elements {{.*}} -> tensor<2x9x4xf32>
  %3 = mp.gather_elements %x, %e {axis = 1 : i64} : (tensor<2x?x4xf32>, tensor<2x9x4xi64>) -> tensor<*xf32>
  // CHECK: mp.gather_nd {{.*}} -> tensor<2x7x4xf32>
  %4 = mp.gather_nd %x, %n {batch_dims = 1 : i64} : (tensor<2x?x4xf32>, tensor<2x7x1xi64>) -> tensor<*xf32>
  // CHECK: mp.gather_nd {{.*}} -> tensor<*xf32>
  %5 = mp.gather_nd %x, %u : (tensor<2x?x4xf32>, tensor<*xi64>) -> tensor<*xf32>
  return
}

// Elements of a table of shapes: row 1, and the last of it.
// CHECK-LABEL: @elements
func.func @elements() {
  %t = mp.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %one = mp.constant dense<1> : tensor<i64>
  %last = mp.constant dense<[-1]> : tensor<1xi64>
  %row = mp.gather %t, %one : (tensor<2x2xi64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<3x4xf32>
  %0 = mp.fill %row {value = dense<0.0> : tensor<1xf32>} : (tensor<*xi64>) -> tensor<*xf32>
  %column = mp.gather %t, %one {axis = 1 : i64} : (tensor<2x2xi64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<2x4xf32>
  %1 = mp.fill %column {value = dense<0.0> : tensor<1xf32>} : (tensor<*xi64>) -> tensor<*xf32>
  %end = mp.gather %row, %last : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<4xf32>
  %2 = mp.fill %end {value = dense<0.0> : tensor<1xf32>} : (tensor<*xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @writing
func.func @writing(%x: tensor<2x?xf32>, %i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %n: tensor<5x2xi64>, %v: tensor<5xf32>, %m: tensor<2x1xi1>, %s: tensor<f32>) {
  // CHECK: mp.scatter_elements {{.*}} {axis = 1 : i64, reduction = "add"} {{.*}} -> tensor<2x?xf32>
  %0 = mp.scatter_elements %x, %i, %u {axis = 1 : i64, reduction = "add"} : (tensor<2x?xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<*xf32>
  // CHECK: mp.scatter_nd {{.*}} -> tensor<2x?xf32>
  %1 = mp.scatter_nd %x, %n, %v : (tensor<2x?xf32>, tensor<5x2xi64>, tensor<5xf32>) -> tensor<*xf32>
  // CHECK: mp.masked_fill {{.*}} -> tensor<2x?xf32>
  %2 = mp.masked_fill %x, %m, %s : (tensor<2x?xf32>, tensor<2x1xi1>, tensor<f32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @counted
func.func @counted(%x: tensor<2x3xf32>, %c: tensor<3xi1>, %boxes: tensor<1x9x4xf32>, %scores: tensor<1x2x9xf32>, %k: tensor<i64>, %t: tensor<f32>) {
  // CHECK: mp.compress {{.*}} -> tensor<?xf32>
  %0 = mp.compress %x, %c : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<*xf32>
  %known = mp.constant dense<[true, false, true]> : tensor<3xi1>
  // CHECK: mp.compress {{.*}} -> tensor<2x2xf32>
  %1 = mp.compress %x, %known {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<*xf32>
  // CHECK: mp.non_zero {{.*}} -> tensor<2x?xi64>
  %2 = mp.non_zero %x : (tensor<2x3xf32>) -> tensor<*xi64>
  // CHECK: mp.unique {{.*}} -> (tensor<?xf32>, tensor<?xi64>, tensor<6xi64>, tensor<?xi64>)
  %3:4 = mp.unique %x : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi64>, tensor<*xi64>, tensor<*xi64>)
  // CHECK: mp.unique {{.*}} -> (tensor<2x?xf32>, tensor<?xi64>, tensor<3xi64>, tensor<?xi64>)
  %4:4 = mp.unique %x {axis = -1 : i64, sorted = false} : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xi64>, tensor<*xi64>, tensor<*xi64>)
  // CHECK: mp.non_max_suppression {{.*}} max {{.*}} score {{.*}} -> tensor<?x3xi64>
  %5 = mp.non_max_suppression %boxes, %scores max %k score %t : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>) -> tensor<*xi64>
  return
}
