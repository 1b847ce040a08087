// RUN: mpopt-opt %s --mp-differentiate="wrt=inputs seed=ones" | FileCheck %s

// The loop runs again and keeps what iterations begin with; a scan goes over that
// from the end, with the gradient of the carried value and a sum for the weight.
// CHECK-LABEL: func.func @loop
// CHECK: mp.loop count %arg2
// CHECK: %[[ONES:.*]] = mp.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[AGAIN:.*]]:4 = mp.loop count %arg2 iter(%arg0) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?xi64>, tensor<?xi1>, tensor<?x4xf32>)
// CHECK: mp.yield %[[GO:.*]], %[[NEXT:.*]], %[[I:.*]], %[[GO]], %[[V:.*]] : tensor<i1>, tensor<4xf32>, tensor<i64>, tensor<i1>, tensor<4xf32>
// CHECK: %[[ZEROS:.*]] = mp.constant dense<0.000000e+00> : tensor<4x4xf32>
// CHECK: %[[G:.*]]:2 = mp.scan states(%[[ONES]], %[[ZEROS]]) over(%[[AGAIN]]#1, %[[AGAIN]]#2, %[[AGAIN]]#3) {input_axes = array<i64: 0, 0, 0>, input_directions = array<i64: 1, 1, 1>, output_axes = array<i64>, output_directions = array<i64>}
// CHECK: ^bb0(%[[DY:.*]]: tensor<4xf32>, %[[SUM:.*]]: tensor<4x4xf32>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %[[X:.*]]: tensor<4xf32>):
// CHECK: mp.tanh_grad %[[DY]]
// CHECK: mp.add %[[SUM]]
// CHECK: return %{{.*}}, %[[G]]#0, %[[G]]#1
func.func @loop(%x: tensor<4xf32> {mp.name = "x"}, %w: tensor<4x4xf32> {mp.name = "w"}, %n: tensor<i64>) -> tensor<4xf32> {
  %r = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %p = mp.matmul %v, %w : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
    %t = mp.tanh %p : (tensor<4xf32>) -> tensor<4xf32>
    mp.yield %go, %t : tensor<i1>, tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// A branch in a body: the body's block belongs to no op while its gradient is made.
// CHECK-LABEL: func.func @branch
// CHECK: mp.scan
// CHECK: mp.if
// CHECK: mp.tanh_grad
func.func @branch(%x: tensor<4xf32> {mp.name = "x"}, %which: tensor<i1>, %n: tensor<i64>) -> tensor<4xf32> {
  %r = mp.loop count %n iter(%x) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
    %b = mp.if %which : (tensor<i1>) -> tensor<4xf32> {
      %t = mp.tanh %v : (tensor<4xf32>) -> tensor<4xf32>
      mp.yield %t : tensor<4xf32>
    } else {
      mp.yield %v : tensor<4xf32>
    }
    mp.yield %go, %b : tensor<i1>, tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
