// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @elements
func.func @elements(%g: tensor<2x8xf16>, %x: tensor<2x8xf16>, %b: tensor<8xf16>, %m: tensor<2x8xi1>, %r: tensor<f32>) {
  // CHECK: mp.relu_grad {{.*}} -> tensor<2x8xf16>
  %0 = mp.relu_grad %g, %x : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.sigmoid_grad {{.*}} -> tensor<2x8xf16>
  %1 = mp.sigmoid_grad %g, %x : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.tanh_grad {{.*}} -> tensor<2x8xf16>
  %2 = mp.tanh_grad %g, %x : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.gelu_grad %{{.*}}, %{{.*}} bias %{{.*}} {approximate = "tanh"} {{.*}} -> tensor<2x8xf16>
  %3 = mp.gelu_grad %g, %x bias %b {approximate = "tanh"} : (tensor<2x8xf16>, tensor<2x8xf16>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.quick_gelu_grad {{.*}} -> tensor<2x8xf16>
  %4 = mp.quick_gelu_grad %g, %x : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.softmax_grad {{.*}} -> tensor<2x8xf16>
  %5 = mp.softmax_grad %g, %x {axis = -1 : i64} : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.log_softmax_grad {{.*}} -> tensor<2x8xf16>
  %6 = mp.log_softmax_grad %g, %x {axis = -1 : i64} : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.dropout_grad %{{.*}}, %{{.*}} ratio %{{.*}} -> tensor<2x8xf16>
  %7 = mp.dropout_grad %g, %m ratio %r : (tensor<2x8xf16>, tensor<2x8xi1>, tensor<f32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.leaky_relu_grad {{.*}} -> tensor<2x8xf16>
  %8 = mp.leaky_relu_grad %g, %x {alpha = 0.1} : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @layers
func.func @layers(%g: tensor<2x8xf16>, %s: tensor<8xf32>, %m: tensor<2x1xf32>, %y: tensor<2x6x5x5xf32>, %x: tensor<2x3x7x7xf32>, %w: tensor<6x3x3x3xf32>, %l: tensor<2x10xf32>, %t: tensor<2xi64>) {
  // CHECK: mp.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} -> (tensor<2x8xf16>, tensor<8xf32>, tensor<8xf32>)
  %0:3 = mp.layer_norm_grad %g, %g, %s bias %s {epsilon = 1.0e-5} : (tensor<2x8xf16>, tensor<2x8xf16>, tensor<8xf32>, tensor<8xf32>)
    -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.rms_norm_grad {{.*}} -> (tensor<2x8xf16>, tensor<8xf32>)
  %1:2 = mp.rms_norm_grad %g, %g, %s, %m : (tensor<2x8xf16>, tensor<2x8xf16>, tensor<8xf32>, tensor<2x1xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.batch_norm_grad {{.*}} -> (tensor<2x8xf16>, tensor<8xf32>, tensor<8xf32>)
  %2:3 = mp.batch_norm_grad %g, %g, %s, %s, %s {epsilon = 1.0e-5} : (tensor<2x8xf16>, tensor<2x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.conv_grad {{.*}} -> (tensor<2x3x7x7xf32>, tensor<6x3x3x3xf32>, tensor<6xf32>)
  %3:3 = mp.conv_grad %y, %x, %w : (tensor<2x6x5x5xf32>, tensor<2x3x7x7xf32>, tensor<6x3x3x3xf32>)
    -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.softmax_cross_entropy_grad %{{.*}}, %{{.*}} : {{.*}} -> tensor<2x10xf32>
  %4 = mp.softmax_cross_entropy_grad %l, %t : (tensor<2x10xf32>, tensor<2xi64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @scattered
func.func @scattered(%g: tensor<3x8xf32>, %i: tensor<3xi64>, %d: tensor<2xi64>) {
  %shape = mp.constant dense<[50, 8]> : tensor<2xi64>
  // CHECK: mp.gather_grad {{.*}} -> tensor<50x8xf32>
  %0 = mp.gather_grad %g, %shape, %i : (tensor<3x8xf32>, tensor<2xi64>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.slice_grad {{.*}} -> tensor<?x?xf32>
  %1 = mp.slice_grad %g, %d, %i, %i : (tensor<3x8xf32>, tensor<2xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.broadcast_gradient_args {{.*}} -> (tensor<?xi64>, tensor<?xi64>)
  %2:2 = mp.broadcast_gradient_args %d, %d : (tensor<2xi64>, tensor<2xi64>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.gradient {{.*}} -> tensor<3x8xf32>
  %3 = mp.gradient %g, %i {count = 1 : i64, of = "y"} : (tensor<3x8xf32>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @optimisers
func.func @optimisers(%w: tensor<8xf32>, %g: tensor<8xf16>, %m: tensor<8xf32>, %r: tensor<f32>, %t: tensor<i64>, %s: tensor<i1>, %ws: !mp.sequence<tensor<8xf32>>) {
  // CHECK: mp.sgd %{{.*}}, %{{.*}} {learning_rate = 1.000000e-02 : f64} {{.*}} -> tensor<8xf32>
  %0 = mp.sgd %w, %g {learning_rate = 0.01} : (tensor<8xf32>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.sgd %{{.*}}, %{{.*}} rate %{{.*}} signal %{{.*}} -> !mp.sequence<tensor<8xf32>>
  %1 = mp.sgd %ws, %ws rate %r signal %s : (tensor<f32>, !mp.sequence<tensor<8xf32>>, !mp.sequence<tensor<8xf32>>, tensor<i1>) -> tensor<*x!mp.unknown>
  // CHECK: mp.adam %{{.*}}, %{{.*}} states(%{{.*}}, %{{.*}}) rate %{{.*}} step %{{.*}} -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %2:3 = mp.adam %w, %g states(%m, %m) rate %r step %t {alpha = 0.9, beta = 0.999, epsilon = 1.0e-8, weight_decay = 0.0}
    : (tensor<f32>, tensor<i64>, tensor<8xf32>, tensor<8xf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.momentum {{.*}} -> (tensor<8xf32>, tensor<8xf32>)
  %3:2 = mp.momentum %w, %g states(%m) rate %r {alpha = 0.9, beta = 1.0, weight_decay = 0.0}
    : (tensor<f32>, tensor<8xf32>, tensor<8xf16>, tensor<8xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @scaling
func.func @scaling(%x: tensor<8xf16>, %s: tensor<f32>, %a: tensor<8xf32>) {
  // CHECK: mp.loss_scale {{.*}} -> tensor<8xf16>
  %0 = mp.loss_scale %x, %s : (tensor<8xf16>, tensor<f32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.loss_scale {{.*}} -> tensor<8xf32>
  %1 = mp.loss_scale %x, %s {divide = true, output_type = f32} : (tensor<8xf16>, tensor<f32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.all_finite {{.*}} -> tensor<i1>
  %2 = mp.all_finite %x, %a : (tensor<8xf16>, tensor<8xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.global_norm {{.*}} -> tensor<f32>
  %3 = mp.global_norm %x, %a : (tensor<8xf16>, tensor<8xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.accumulate {{.*}} -> tensor<8xf32>
  %4 = mp.accumulate %a, %x : (tensor<8xf32>, tensor<8xf16>) -> tensor<*x!mp.unknown>
  return
}
