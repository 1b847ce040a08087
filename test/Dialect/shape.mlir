// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @reshape_static
func.func @reshape_static(%x: tensor<2x3x4xf16>) {
  %s = mp.constant dense<[0, -1]> : tensor<2xi64>
  // CHECK: mp.reshape {{.*}} -> tensor<2x12xf16>
  %0 = mp.reshape %x, %s : (tensor<2x3x4xf16>, tensor<2xi64>) -> tensor<*xf16>
  return
}

// Dims copied from the input cancel even where they are not known.
// CHECK-LABEL: @reshape_copied
func.func @reshape_copied(%x: tensor<?x?x12x64xf32>, %y: tensor<?x768xf32>) {
  %s = mp.constant dense<[0, 0, -1]> : tensor<3xi64>
  // CHECK: mp.reshape {{.*}} -> tensor<?x?x768xf32>
  %0 = mp.reshape %x, %s : (tensor<?x?x12x64xf32>, tensor<3xi64>) -> tensor<*xf32>
  %t = mp.constant dense<[-1, 12, 64]> : tensor<3xi64>
  // CHECK: mp.reshape {{.*}} -> tensor<?x12x64xf32>
  %1 = mp.reshape %y, %t : (tensor<?x768xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @reshape_unknown
func.func @reshape_unknown(%x: tensor<2x3xf32>, %y: tensor<*xf32>, %s: tensor<3xi64>, %r: tensor<?xi64>) {
  // CHECK: mp.reshape {{.*}} -> tensor<?x?x?xf32>
  %0 = mp.reshape %x, %s : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reshape {{.*}} -> tensor<*xf32>
  %1 = mp.reshape %x, %r : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<*x!mp.unknown>
  %t = mp.constant dense<[0, 4, -1]> : tensor<3xi64>
  // CHECK: mp.reshape {{.*}} -> tensor<?x4x?xf32>
  %2 = mp.reshape %y, %t : (tensor<*xf32>, tensor<3xi64>) -> tensor<*x!mp.unknown>
  return
}

// With allow_zero 0 is a dim of its own; -1 beside it could be anything.
// CHECK-LABEL: @reshape_zero
func.func @reshape_zero(%x: tensor<0x3xf32>, %y: tensor<?x0xf32>) {
  %s = mp.constant dense<[3, 0]> : tensor<2xi64>
  // CHECK: mp.reshape {{.*}} {allow_zero} {{.*}} -> tensor<3x0xf32>
  %0 = mp.reshape %x, %s {allow_zero} : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  %t = mp.constant dense<[0, -1]> : tensor<2xi64>
  // CHECK: mp.reshape {{.*}} -> tensor<?x0xf32>
  %1 = mp.reshape %y, %t : (tensor<?x0xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// The product of these dims is past 2^63: unknown, not wrapped around.
// CHECK-LABEL: @huge
func.func @huge(%x: tensor<1152921504606846976x1152921504606846976xf32>) {
  %s = mp.constant dense<[-1, 2]> : tensor<2xi64>
  // CHECK: mp.reshape {{.*}} -> tensor<?x2xf32>
  %0 = mp.reshape %x, %s : (tensor<1152921504606846976x1152921504606846976xf32>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: mp.flatten {{.*}} -> tensor<1x?xf32>
  %1 = mp.flatten %x {axis = 0 : i64} : (tensor<1152921504606846976x1152921504606846976xf32>) -> tensor<*xf32>
  %r = mp.constant dense<[1152921504606846976, 1]> : tensor<2xi64>
  // CHECK: mp.tile {{.*}} -> tensor<?x1152921504606846976xf32>
  %2 = mp.tile %x, %r : (tensor<1152921504606846976x1152921504606846976xf32>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: mp.concat {{.*}} -> tensor<?x1152921504606846976xf32>
  %3 = mp.concat %x, %x, %x, %x, %x, %x, %x, %x {axis = 0 : i64} : (tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>, tensor<1152921504606846976x1152921504606846976xf32>) -> tensor<*xf32>
  // CHECK: mp.pad {{.*}} -> tensor<?x1152921504606846976xf32>
  %4 = mp.pad %x {pads = array<i64: 9223372036854775807, 0, 1, 0>} : (tensor<1152921504606846976x1152921504606846976xf32>) -> tensor<*xf32>
  // CHECK: mp.slice {{.*}} -> tensor<1x1152921504606846976xf32>
  %5 = mp.slice %x {starts = array<i64: 9223372036854775807>, ends = array<i64: -9223372036854775808>, steps = array<i64: -9223372036854775808>} : (tensor<1152921504606846976x1152921504606846976xf32>) -> tensor<*xf32>
  return
}

// A target computed from the input's own shape, as exporters write it: batch
// and sequence stay open, heads are split off.
// CHECK-LABEL: @shape_arithmetic
func.func @shape_arithmetic(%x: tensor<?x16x768xf32>) {
  // CHECK: mp.shape {{.*}} -> tensor<3xi64>
  %shape = mp.shape %x : (tensor<?x16x768xf32>) -> tensor<*x!mp.unknown>
  %zero = mp.constant dense<0> : tensor<i64>
  %one = mp.constant dense<1> : tensor<i64>
  // CHECK: mp.gather {{.*}} -> tensor<i64>
  %b = mp.gather %shape, %zero : (tensor<*x!mp.unknown>, tensor<i64>) -> tensor<*x!mp.unknown>
  %s = mp.gather %shape, %one : (tensor<*x!mp.unknown>, tensor<i64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.unsqueeze {{.*}} -> tensor<1xi64>
  %b1 = mp.unsqueeze %b {axes = array<i64: 0>} : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  %s1 = mp.unsqueeze %s {axes = array<i64: 0>} : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  %heads = mp.constant dense<[12, 64]> : tensor<2xi64>
  // CHECK: mp.concat {{.*}} -> tensor<4xi64>
  %target = mp.concat %b1, %s1, %heads {axis = 0 : i64} : (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<2xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.reshape {{.*}} -> tensor<?x16x12x64xf32>
  %0 = mp.reshape %x, %target : (tensor<?x16x768xf32>, tensor<*x!mp.unknown>) -> tensor<*xf32>
  return
}

// Elements through slices, splits, ranges, fills, tiles and sizes.
// CHECK-LABEL: @elements
func.func @elements(%x: tensor<2x?x6x8xf32>, %y: tensor<3x4xf32>) {
  // CHECK: mp.shape {{.*}} {end = -1 : i64, start = 2 : i64} {{.*}} -> tensor<1xi64>
  %s = mp.shape %x {start = 2 : i64, end = -1 : i64} : (tensor<2x?x6x8xf32>) -> tensor<*xi64>
  %v = mp.constant dense<1> : tensor<1xi64>
  // CHECK: mp.fill {{.*}} -> tensor<6xi64>
  %ones = mp.fill %s {value = dense<1> : tensor<1xi64>} : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<1x1x1x1x1x1xf16>
  %f = mp.fill %ones {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>

  %all = mp.shape %x : (tensor<2x?x6x8xf32>) -> tensor<*xi64>
  // CHECK: mp.slice {{.*}} -> tensor<2xi64>
  %odd = mp.slice %all {starts = array<i64: 3>, ends = array<i64: -5>, steps = array<i64: -3>} : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<8x2xf16>
  %g = mp.fill %odd {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>
  // CHECK: mp.split {{.*}} -> (tensor<3xi64>, tensor<1xi64>)
  %front, %back = mp.split %all {sizes = array<i64: 3, 1>} : (tensor<*xi64>) -> (tensor<*xi64>, tensor<*xi64>)
  // CHECK: mp.fill {{.*}} -> tensor<8xf16>
  %h = mp.fill %back {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>
  // CHECK: mp.fill {{.*}} -> tensor<2x?x6xf16>
  %i = mp.fill %front {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>

  %two = mp.constant dense<2> : tensor<1xi64>
  // CHECK: mp.tile {{.*}} -> tensor<2xi64>
  %t = mp.tile %back, %two : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<8x8xf16>
  %j = mp.fill %t {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>

  // CHECK: mp.size {{.*}} -> tensor<i64>
  %size = mp.size %y : (tensor<3x4xf32>) -> tensor<*xi64>
  %from = mp.constant dense<10> : tensor<i64>
  %by = mp.constant dense<1> : tensor<i64>
  // CHECK: mp.range {{.*}} -> tensor<2xi64>
  %range = mp.range %from, %size, %by : (tensor<i64>, tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<10x11xf16>
  %k = mp.fill %range {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>

  // CHECK: mp.expand {{.*}} -> tensor<2xi64>
  %e = mp.expand %size, %two : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  // CHECK: mp.fill {{.*}} -> tensor<12x12xf16>
  %l = mp.fill %e {value = dense<0.5> : tensor<1xf16>} : (tensor<*xi64>) -> tensor<*xf16>
  return
}

// CHECK-LABEL: @layout
func.func @layout(%x: tensor<2x?x1x8xf32>, %u: tensor<*xf32>, %axes: tensor<2xi64>, %open: tensor<?xi64>) {
  // CHECK: mp.flatten {{.*}} {axis = 2 : i64} {{.*}} -> tensor<?x8xf32>
  %0 = mp.flatten %x {axis = 2 : i64} : (tensor<2x?x1x8xf32>) -> tensor<*xf32>
  // CHECK: mp.flatten {{.*}} -> tensor<?x?xf32>
  %1 = mp.flatten %u : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK: mp.transpose {{.*}} -> tensor<?x8x2x1xf32>
  %2 = mp.transpose %x {perm = array<i64: 1, 3, 0, 2>} : (tensor<2x?x1x8xf32>) -> tensor<*xf32>
  // CHECK: mp.transpose {{.*}} -> tensor<8x1x?x2xf32>
  %3 = mp.transpose %x : (tensor<2x?x1x8xf32>) -> tensor<*xf32>
  // CHECK: mp.transpose {{.*}} -> tensor<?x?xf32>
  %4 = mp.transpose %u {perm = array<i64: 1, 0>} : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK: mp.squeeze {{.*}} -> tensor<2x?x8xf32>
  %5 = mp.squeeze %x {axes = array<i64: -2>} : (tensor<2x?x1x8xf32>) -> tensor<*xf32>
  // An open dim may be 1 or not.
  // CHECK: mp.squeeze {{.*}} -> tensor<*xf32>
  %6 = mp.squeeze %x : (tensor<2x?x1x8xf32>) -> tensor<*xf32>
  // CHECK: mp.squeeze {{.*}} axes {{.*}} -> tensor<?x?xf32>
  %7 = mp.squeeze %x axes %axes : (tensor<2x?x1x8xf32>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: mp.unsqueeze {{.*}} -> tensor<1x2x?x1x8x1xf32>
  %8 = mp.unsqueeze %x {axes = array<i64: 0, -1>} : (tensor<2x?x1x8xf32>) -> tensor<*xf32>
  // CHECK: mp.unsqueeze {{.*}} -> tensor<?x?x?x?x?x?xf32>
  %9 = mp.unsqueeze %x axes %axes : (tensor<2x?x1x8xf32>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: mp.unsqueeze {{.*}} -> tensor<*xf32>
  %10 = mp.unsqueeze %x axes %open : (tensor<2x?x1x8xf32>, tensor<?xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @repetition
func.func @repetition(%x: tensor<3x1x?xf32>, %open: tensor<4xi64>) {
  %s = mp.constant dense<[2, 1, 6, 5]> : tensor<4xi64>
  // CHECK: mp.expand {{.*}} -> tensor<2x3x6x5xf32>
  %0 = mp.expand %x, %s : (tensor<3x1x?xf32>, tensor<4xi64>) -> tensor<*xf32>
  // CHECK: mp.expand {{.*}} -> tensor<?x3x?x?xf32>
  %1 = mp.expand %x, %open : (tensor<3x1x?xf32>, tensor<4xi64>) -> tensor<*xf32>
  %keep = mp.constant dense<[-1, 7, -1]> : tensor<3xi64>
  // CHECK: mp.expand {{.*}} -> tensor<3x7x?xf32>
  %2 = mp.expand %x, %keep : (tensor<3x1x?xf32>, tensor<3xi64>) -> tensor<*xf32>
  %r = mp.constant dense<[2, 3, 4]> : tensor<3xi64>
  // CHECK: mp.tile {{.*}} -> tensor<6x3x?xf32>
  %3 = mp.tile %x, %r : (tensor<3x1x?xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @parts
func.func @parts(%x: tensor<?x7xf32>, %y: tensor<5x?xf32>, %h: tensor<5x2xf16>, %u: tensor<*xf32>, %e: tensor<1xi64>, %p: tensor<4xi64>) {
  // CHECK: mp.concat {{.*}} -> tensor<5x?xf32>
  %0 = mp.concat %x, %y, %h {axis = 1 : i64} : (tensor<?x7xf32>, tensor<5x?xf32>, tensor<5x2xf16>) -> tensor<*xf32>
  // CHECK: mp.concat {{.*}} -> tensor<?x7xf32>
  %1 = mp.concat %x, %u {axis = 0 : i64} : (tensor<?x7xf32>, tensor<*xf32>) -> tensor<*xf32>
  // CHECK: mp.split {{.*}} -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x1xf32>)
  %2:3 = mp.split %x {axis = 1 : i64} : (tensor<?x7xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  // CHECK: mp.split {{.*}} -> (tensor<?x7xf32>, tensor<?x7xf32>)
  %3:2 = mp.split %x : (tensor<?x7xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  // CHECK: mp.slice {{.*}} -> tensor<?x3xf32>
  %4 = mp.slice %x {starts = array<i64: -1>, ends = array<i64: -9223372036854775808>, axes = array<i64: 1>, steps = array<i64: -3>} : (tensor<?x7xf32>) -> tensor<*xf32>
  // CHECK: mp.slice {{.*}} ends {{.*}} -> tensor<?x?xf32>
  %5 = mp.slice %x ends %e {starts = array<i64: 0>, axes = array<i64: 1>} : (tensor<?x7xf32>, tensor<1xi64>) -> tensor<*xf32>
  // CHECK: mp.slice {{.*}} -> tensor<?x0xf32>
  %6 = mp.slice %x {starts = array<i64: 0, 5>, ends = array<i64: 9223372036854775807, 3>} : (tensor<?x7xf32>) -> tensor<*xf32>
  // The start is clamped into the dim: one element, where NumPy has none.
  // CHECK: mp.slice {{.*}} -> tensor<?x1xf32>
  %12 = mp.slice %x {starts = array<i64: -9>, ends = array<i64: -9>, axes = array<i64: 1>, steps = array<i64: -1>} : (tensor<?x7xf32>) -> tensor<*xf32>
  // CHECK: mp.slice {{.*}} axes {{.*}} -> tensor<?x?xf32>
  %7 = mp.slice %x axes %e {starts = array<i64: 0>, ends = array<i64: 1>} : (tensor<?x7xf32>, tensor<1xi64>) -> tensor<*xf32>
  // CHECK: mp.pad {{.*}} -> tensor<?x9xf32>
  %8 = mp.pad %x {pads = array<i64: 0, 3, 0, -1>, mode = "reflect"} : (tensor<?x7xf32>) -> tensor<*xf32>
  // CHECK: mp.pad {{.*}} -> tensor<?x10xf32>
  %9 = mp.pad %x {pads = array<i64: 1, 2>, axes = array<i64: -1>} : (tensor<?x7xf32>) -> tensor<*xf32>
  %v = mp.constant dense<-1.0> : tensor<f32>
  // CHECK: mp.pad {{.*}} pads {{.*}} value {{.*}} -> tensor<?x?xf32>
  %10 = mp.pad %u pads %p value %v : (tensor<*xf32>, tensor<4xi64>, tensor<f32>) -> tensor<*xf32>
  %c = mp.constant dense<[4]> : tensor<1xi64>
  // CHECK: mp.center_crop_pad {{.*}} -> tensor<?x4xf32>
  %11 = mp.center_crop_pad %x, %c {axes = array<i64: 1>} : (tensor<?x7xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @same_type
func.func @same_type(%x: tensor<4x8x?xf32>, %w: tensor<4x1x?xf32>, %n: tensor<4xi64>, %l: tensor<8xi64>, %k: tensor<i64>) {
  // CHECK: mp.tensor_scatter {{.*}} {mode = "circular"} {{.*}} -> tensor<4x8x?xf32>
  %0 = mp.tensor_scatter %x, %w, %n {mode = "circular"} : (tensor<4x8x?xf32>, tensor<4x1x?xf32>, tensor<4xi64>) -> tensor<*xf32>
  // CHECK: mp.reverse {{.*}} -> tensor<4x8x?xf32>
  %1 = mp.reverse %x {axes = array<i64: 0, 2>} : (tensor<4x8x?xf32>) -> tensor<*xf32>
  // CHECK: mp.roll {{.*}} -> tensor<4x8x?xf32>
  %2 = mp.roll %x {shifts = array<i64: 1, -1>, axes = array<i64: 1, 1>} : (tensor<4x8x?xf32>) -> tensor<*xf32>
  // CHECK: mp.reverse_sequence {{.*}} -> tensor<4x8x?xf32>
  %3 = mp.reverse_sequence %x, %l : (tensor<4x8x?xf32>, tensor<8xi64>) -> tensor<*xf32>
  // CHECK: mp.trilu {{.*}} k {{.*}} {upper = false} {{.*}} -> tensor<4x8x?xf32>
  %4 = mp.trilu %x k %k {upper = false} : (tensor<4x8x?xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @images
func.func @images(%x: tensor<?x12x5x8xf32>, %y: tensor<1x2x4x6xf32>, %cols: tensor<1x18x12xf32>, %grid: tensor<3x7x9x2xf32>, %theta: tensor<2x2x3xf32>) {
  // CHECK: mp.depth_to_space {{.*}} {block_size = 2 : i64, mode = "CRD"} {{.*}} -> tensor<?x3x10x16xf32>
  %0 = mp.depth_to_space %x {block_size = 2 : i64, mode = "CRD"} : (tensor<?x12x5x8xf32>) -> tensor<*xf32>
  // CHECK: mp.space_to_depth {{.*}} -> tensor<1x8x2x3xf32>
  %1 = mp.space_to_depth %y {block_size = 2 : i64} : (tensor<1x2x4x6xf32>) -> tensor<*xf32>
  // CHECK: mp.im2col {{.*}} -> tensor<1x18x6xf32>
  %2 = mp.im2col %y {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x2x4x6xf32>) -> tensor<*xf32>
  %image = mp.constant dense<[5, 6]> : tensor<2xi64>
  %block = mp.constant dense<[3, 3]> : tensor<2xi64>
  // CHECK: mp.col2im {{.*}} -> tensor<1x2x5x6xf32>
  %3 = mp.col2im %cols, %image, %block : (tensor<1x18x12xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  // CHECK: mp.grid_sample {{.*}} -> tensor<3x12x7x9xf32>
  %4 = mp.grid_sample %x, %grid {align_corners} : (tensor<?x12x5x8xf32>, tensor<3x7x9x2xf32>) -> tensor<*xf32>
  %size = mp.constant dense<[2, 3, 5, 6]> : tensor<4xi64>
  // CHECK: mp.affine_grid {{.*}} -> tensor<2x5x6x2xf32>
  %5 = mp.affine_grid %theta, %size : (tensor<2x2x3xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @resize
func.func @resize(%x: tensor<?x3x5x8xf32>, %open: tensor<4xi64>) {
  %scales = mp.constant dense<[1.0, 1.0, 1.5, 2.0]> : tensor<4xf32>
  // CHECK: mp.resize {{.*}} scales {{.*}} {mode = "linear"} {{.*}} -> tensor<?x3x7x16xf32>
  %0 = mp.resize %x scales %scales {mode = "linear"} : (tensor<?x3x5x8xf32>, tensor<4xf32>) -> tensor<*xf32>
  // CHECK: mp.resize {{.*}} -> tensor<?x?x?x?xf32>
  %1 = mp.resize %x sizes %open : (tensor<?x3x5x8xf32>, tensor<4xi64>) -> tensor<*xf32>
  %two = mp.constant dense<[10, 10]> : tensor<2xi64>
  // CHECK: mp.resize {{.*}} -> tensor<?x3x10x10xf32>
  %2 = mp.resize %x sizes %two {axes = array<i64: 2, 3>} : (tensor<?x3x5x8xf32>, tensor<2xi64>) -> tensor<*xf32>
  // The smaller scale, 10 / 8, for both.
  // CHECK: mp.resize {{.*}} -> tensor<?x3x6x10xf32>
  %3 = mp.resize %x sizes %two {axes = array<i64: 2, 3>, keep_aspect_ratio_policy = "not_larger"} : (tensor<?x3x5x8xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: @factories
func.func @factories(%x: tensor<2x?xf32>, %i: tensor<2x?xi64>, %m: tensor<5x3x3xf32>, %open: tensor<f32>) {
  // CHECK: mp.eye_like {{.*}} -> tensor<2x?xf32>
  %0 = mp.eye_like %x : (tensor<2x?xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.eye_like {{.*}} -> tensor<2x?xf16>
  %1 = mp.eye_like %x {k = 1 : i64} : (tensor<2x?xf32>) -> tensor<*xf16>
  %depth = mp.constant dense<10> : tensor<i64>
  %values = mp.constant dense<[0.0, 1.0]> : tensor<2xf16>
  // CHECK: mp.one_hot {{.*}} -> tensor<2x10x?xf16>
  %2 = mp.one_hot %i, %depth, %values {axis = 1 : i64} : (tensor<2x?xi64>, tensor<i64>, tensor<2xf16>) -> tensor<*xf16>
  // CHECK: mp.det {{.*}} -> tensor<5xf32>
  %3 = mp.det %m : (tensor<5x3x3xf32>) -> tensor<*xf32>
  %a = mp.constant dense<1.0> : tensor<f32>
  %b = mp.constant dense<2.0> : tensor<f32>
  %c = mp.constant dense<0.3> : tensor<f32>
  // CHECK: mp.range {{.*}} -> tensor<4xf32>
  %4 = mp.range %a, %b, %c : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<*xf32>
  // CHECK: mp.range {{.*}} -> tensor<?xf32>
  %5 = mp.range %a, %open, %c : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<*xf32>
  return
}

// Heads of hidden states: the batch that the target reads from the shape is the
// operand's own, through layers and by the name of an input's dim.
// CHECK-LABEL: @read_batch
func.func @read_batch(%x: tensor<?x16x96xf32> {mp.dim_params = ["batch", "", ""]}, %w: tensor<96x96xf32>, %mask: tensor<?x16xf32> {mp.dim_params = ["batch", ""]}, %other: tensor<?x1xf32>) {
  %s = mp.shape %x : (tensor<?x16x96xf32>) -> tensor<*xi64>
  %zero = mp.constant dense<[0]> : tensor<1xi64>
  %n = mp.gather %s, %zero : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %tail = mp.constant dense<[16, -1, 24]> : tensor<3xi64>
  %to = mp.concat %n, %tail {axis = 0 : i64} : (tensor<*xi64>, tensor<3xi64>) -> tensor<*xi64>
  %q = mp.matmul %x, %w : (tensor<?x16x96xf32>, tensor<96x96xf32>) -> tensor<*xf32>
  // CHECK: mp.reshape {{.*}} -> tensor<?x16x4x24xf32>
  %heads = mp.reshape %q, %to : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  %flat = mp.constant dense<[16, -1]> : tensor<2xi64>
  %back = mp.concat %n, %flat {axis = 0 : i64} : (tensor<*xi64>, tensor<2xi64>) -> tensor<*xi64>
  %axes = mp.constant dense<[2, 3]> : tensor<2xi64>
  %wide = mp.unsqueeze %mask {axes = array<i64: 2, 3>} : (tensor<?x16xf32>) -> tensor<*xf32>
  %sum = mp.add %heads, %wide : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  // CHECK: mp.reshape {{.*}} -> tensor<?x16x96xf32>
  %1 = mp.reshape %sum, %back : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  // Another batch may be the one that is broadcast to.
  %far = mp.unsqueeze %other {axes = array<i64: 2, 3>} : (tensor<?x1xf32>) -> tensor<*xf32>
  %mixed = mp.add %heads, %far : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  // CHECK: mp.reshape {{.*}} -> tensor<?x16x?xf32>
  %2 = mp.reshape %mixed, %back : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  return
}
