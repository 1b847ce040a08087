// RUN: mpopt-opt %s --mp-infer-types | FileCheck %s

// Arithmetic on known elements, seen through the k of a top_k: the size of its
// result's last dim is the value computed.

// CHECK-LABEL: @integers
func.func @integers(%x: tensor<100xf32>) {
  %7 = mp.constant dense<7> : tensor<i64>
  %2 = mp.constant dense<2> : tensor<i64>
  %m7 = mp.neg %7 : (tensor<i64>) -> tensor<*xi64>
  // Integer division goes toward zero: -7 / 2 = -3.
  %q = mp.div %m7, %2 : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %a = mp.abs %q : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<3xf32>
  mp.top_k %x k %a : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  // floor_div goes down: 4.
  %f = mp.floor_div %m7, %2 : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %b = mp.abs %f : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<4xf32>
  mp.top_k %x k %b : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  // -7 mod 2 is 1, C's remainder -1.
  %r = mp.mod %m7, %2 : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<1xf32>
  mp.top_k %x k %r : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %c = mp.mod %m7, %2 {fmod} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %d = mp.add %c, %7 : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<6xf32>
  mp.top_k %x k %d : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %p = mp.pow %7, %2 : (tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<49xf32>
  mp.top_k %x k %p : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %s = mp.sub %p, %7 : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  %n = mp.min %s, %7, %p : (tensor<*xi64>, tensor<i64>, tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<7xf32>
  mp.top_k %x k %n : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %t = mp.clip %p min %2 max %7 : (tensor<*xi64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<7xf32>
  mp.top_k %x k %t : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// What overflows, divides by zero or is not known stays unknown.
// CHECK-LABEL: @unknown
func.func @unknown(%x: tensor<100xf32>, %k: tensor<i64>) {
  %0 = mp.constant dense<0> : tensor<i64>
  %3 = mp.constant dense<3> : tensor<i64>
  %100 = mp.constant dense<100> : tensor<i64>
  %q = mp.div %3, %0 : (tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %q : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %p = mp.pow %3, %100 : (tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %p : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %s = mp.add %3, %k : (tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %s : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// CHECK-LABEL: @conditions
func.func @conditions(%x: tensor<100xf32>, %k: tensor<i64>, %c: tensor<i1>) {
  %7 = mp.constant dense<7> : tensor<i64>
  %2 = mp.constant dense<2> : tensor<i64>
  %less = mp.less %2, %7 : (tensor<i64>, tensor<i64>) -> tensor<*xi1>
  %equal = mp.equal %2, %7 : (tensor<i64>, tensor<i64>) -> tensor<*xi1>
  %not = mp.logical_not %equal : (tensor<*xi1>) -> tensor<*xi1>
  %and = mp.logical_and %less, %not : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  // Only the chosen side need be known.
  %w = mp.where %and, %7, %k : (tensor<*xi1>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<7xf32>
  mp.top_k %x k %w : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %u = mp.where %c, %7, %2 : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %u : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<100xf32>) {
  %m = mp.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %columns = mp.reduce_sum %m {axes = array<i64: 0>} : (tensor<2x3xi64>) -> tensor<*xi64>
  %least = mp.reduce_min %columns : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<5xf32>
  mp.top_k %x k %least : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %rows = mp.reduce_prod %m {axes = array<i64: -1>, keep_dims = true} : (tensor<2x3xi64>) -> tensor<*xi64>
  %first = mp.reduce_min %rows : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<6xf32>
  mp.top_k %x k %first : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %sums = mp.reduce_sum %m {axes = array<i64: 1>} : (tensor<2x3xi64>) -> tensor<*xi64>
  %most = mp.reduce_max %sums : (tensor<*xi64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<15xf32>
  mp.top_k %x k %most : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// Exporters scale dims in float.
// CHECK-LABEL: @floats
func.func @floats(%x: tensor<100xf32>) {
  %7 = mp.constant dense<7> : tensor<i64>
  %scale = mp.constant dense<2.0> : tensor<f32>
  %half = mp.constant dense<0.5> : tensor<f32>
  %f = mp.cast %7 : (tensor<i64>) -> tensor<*xf32>
  %twice = mp.mul %f, %scale : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %floor = mp.floor %twice : (tensor<*xf32>) -> tensor<*xf32>
  %0 = mp.cast %floor : (tensor<*xf32>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<14xf32>
  mp.top_k %x k %0 : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %q = mp.div %f, %scale : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %ceil = mp.ceil %q : (tensor<*xf32>) -> tensor<*xf32>
  %1 = mp.cast %ceil : (tensor<*xf32>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<4xf32>
  mp.top_k %x k %1 : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  // 3.5 is not a whole number, and a half is none.
  %2 = mp.cast %q : (tensor<*xf32>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %2 : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  %less = mp.mul %f, %half : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %3 = mp.cast %less : (tensor<*xf32>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %3 : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  // 2049 is not a value of fp16.
  %big = mp.constant dense<2049> : tensor<i64>
  %h = mp.cast %big : (tensor<i64>) -> tensor<*xf16>
  %4 = mp.cast %h : (tensor<*xf16>) -> tensor<*xi64>
  %100 = mp.constant dense<100> : tensor<i64>
  %5 = mp.min %4, %100 : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<?xf32>
  mp.top_k %x k %5 : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// Casts wrap to the integer's width, and any number but 0 is true.
// CHECK-LABEL: @casts
func.func @casts(%x: tensor<100xf32>) {
  %260 = mp.constant dense<260> : tensor<i64>
  %4 = mp.cast %260 : (tensor<i64>) -> tensor<*xui8>
  // CHECK: mp.top_k {{.*}} -> (tensor<4xf32>
  mp.top_k %x k %4 : (tensor<100xf32>, tensor<*xui8>) -> (tensor<*xf32>, tensor<*xi64>)
  %true = mp.cast %260 : (tensor<i64>) -> tensor<*xi1>
  %1 = mp.cast %true : (tensor<*xi1>) -> tensor<*xi64>
  // CHECK: mp.top_k {{.*}} -> (tensor<1xf32>
  mp.top_k %x k %1 : (tensor<100xf32>, tensor<*xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// Frames come as rows of begin and end, from the last axis to the first: they are
// turned round and transposed.
// CHECK-LABEL: @frames
func.func @frames(%x: tensor<1x576x8xf32>) {
  %rows = mp.constant dense<[[5, 6], [3, 4], [1, 2]]> : tensor<3x2xi64>
  %down = mp.slice %rows {axes = array<i64: 0>, ends = array<i64: -9223372036854775807>, starts = array<i64: -1>, steps = array<i64: -1>} : (tensor<3x2xi64>) -> tensor<*xi64>
  %columns = mp.transpose %down {perm = array<i64: 1, 0>} : (tensor<*xi64>) -> tensor<*xi64>
  %flat = mp.constant dense<-1> : tensor<1xi64>
  %pads = mp.reshape %columns, %flat : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  // CHECK: mp.pad {{.*}} -> tensor<4x583x19xf32>
  mp.pad %x pads %pads : (tensor<1x576x8xf32>, tensor<*xi64>) -> tensor<*xf32>
  // The columns of ends, every other one.
  %ends = mp.slice %rows {axes = array<i64: 1>, ends = array<i64: 2>, starts = array<i64: 1>, steps = array<i64: 1>} : (tensor<3x2xi64>) -> tensor<*xi64>
  %some = mp.slice %ends {axes = array<i64: 0>, ends = array<i64: 3>, starts = array<i64: 0>, steps = array<i64: 2>} : (tensor<*xi64>) -> tensor<*xi64>
  %two = mp.reshape %some, %flat : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %y = mp.constant dense<0.0> : tensor<1x2xf32>
  // CHECK: mp.expand {{.*}} -> tensor<6x2xf32>
  mp.expand %y, %two : (tensor<1x2xf32>, tensor<*xi64>) -> tensor<*xf32>
  return
}
