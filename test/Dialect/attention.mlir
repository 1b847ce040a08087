// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @heads_apart
func.func @heads_apart(%q: tensor<2x8x5x16xf16>, %k: tensor<2x2x7x16xf16>, %v: tensor<2x2x7x12xf16>, %m: tensor<5x10xi1>, %pk: tensor<2x2x3x16xf16>, %pv: tensor<2x2x3x12xf16>) {
  // CHECK: mp.attention %arg0, %arg1, %arg2 : {{.*}} -> tensor<2x8x5x12xf16>
  %0 = mp.attention %q, %k, %v : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x12xf16>) -> tensor<*x!mp.unknown>
  // CHECK: mp.attention %arg0, %arg1, %arg2 mask %arg3 past %arg4, %arg5 {is_causal, softcap = 5.000000e+01 : f64}
  // CHECK-SAME: -> (tensor<2x8x5x12xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x12xf16>, tensor<2x8x5x10xf16>)
  %1:4 = mp.attention %q, %k, %v mask %m past %pk, %pv {is_causal, softcap = 50.0} : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x12xf16>, tensor<5x10xi1>, tensor<2x2x3x16xf16>, tensor<2x2x3x12xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // The length of a shared buffer is not the number of keys.
  // CHECK: mp.attention {{.*}}cache_buffer{{.*}} -> (tensor<2x8x5x12xf16>, tensor<2x2x?x16xf16>, tensor<2x2x?x12xf16>)
  %2:3 = mp.attention %q, %k, %v past %pk, %pv {cache_buffer} : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x12xf16>, tensor<2x2x3x16xf16>, tensor<2x2x3x12xf16>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  return
}

// CHECK-LABEL: @heads_side_by_side
func.func @heads_side_by_side(%q: tensor<?x5x128xf32>, %k: tensor<?x7x32xf32>, %v: tensor<?x7x24xf32>, %b: tensor<1x8x5x7xf32>) {
  // CHECK: mp.attention %arg0, %arg1, %arg2 bias %arg3 {kv_num_heads = 2 : i64, num_heads = 8 : i64}
  // CHECK-SAME: -> (tensor<?x5x96xf32>, tensor<?x2x7x16xf32>, tensor<?x2x7x12xf32>)
  %0:3 = mp.attention %q, %k, %v bias %b {num_heads = 8 : i64, kv_num_heads = 2 : i64} : (tensor<?x5x128xf32>, tensor<?x7x32xf32>, tensor<?x7x24xf32>, tensor<1x8x5x7xf32>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // Without heads: leading dims broadcast.
  // CHECK: mp.attention %{{.*}} -> tensor<?x5x128xf32>
  %1 = mp.attention %q, %q, %q : (tensor<?x5x128xf32>, tensor<?x5x128xf32>, tensor<?x5x128xf32>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @rotary
func.func @rotary(%x: tensor<2x8x5x16xf16>, %y: tensor<2x5x128xf16>, %c: tensor<64x8xf16>, %p: tensor<2x5xi64>) {
  // CHECK: mp.rotary_embedding %arg0, %arg2, %arg2 at %arg3 : {{.*}} -> tensor<2x8x5x16xf16>
  %0 = mp.rotary_embedding %x, %c, %c at %p : (tensor<2x8x5x16xf16>, tensor<64x8xf16>, tensor<64x8xf16>, tensor<2x5xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.rotary_embedding %arg1, %arg2, %arg2 {interleaved = true, num_heads = 8 : i64} : {{.*}} -> tensor<2x5x128xf16>
  %1 = mp.rotary_embedding %y, %c, %c {num_heads = 8 : i64, interleaved = true} : (tensor<2x5x128xf16>, tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<*x!mp.unknown>
  return
}
