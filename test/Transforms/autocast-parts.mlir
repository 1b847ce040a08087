// RUN: mpopt-opt %s --mp-apply-precision=mode=autocast-fp16 | FileCheck %s
// RUN: mpopt-opt %s --mp-apply-precision=mode=autocast-fp16 --rule-silent-upcast --mp-emit-findings 2>&1 | FileCheck %s --check-prefix=QUIET

// QUIET-NOT: MP103

// The parts of a listed op follow its list; what lists name is not its parts.
// CHECK-LABEL: func.func @baddbmm
func.func @baddbmm(%x: tensor<2x3x4xf32>, %a: tensor<2x3x5xf32>, %b: tensor<2x5x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: mp.matmul {{.*}} -> tensor<2x3x4xf16>
  %0 = mp.matmul %a, %b {mp.listed_as = "baddbmm"} : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: mp.add {{.*}}mp.category = "lower"{{.*}} -> tensor<2x3x4xf16>
  %1 = mp.add %0, %x {mp.listed_as = "baddbmm"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// An unlisted op that is composed of listed ones does what they do.
// CHECK-LABEL: func.func @composed
func.func @composed(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: mp.exp {{.*}} -> tensor<4xf32>
  %0 = mp.exp %x {mp.listed_as = "some_composite"} : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// In-place forms are on no list.
// CHECK-LABEL: func.func @in_place
func.func @in_place(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: mp.exp {{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %0 = mp.exp %x {mp.listed_as = "", mp.keeps = 0 : i64} : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// What is written into keeps its dtype, narrower or wider.
// CHECK-LABEL: func.func @written
func.func @written(%cache: tensor<2x4xf32>, %half: tensor<2x4xf16>) -> (tensor<3x4xf32>, tensor<3x4xf16>) {
  %row = mp.constant dense<0.0> : tensor<1x4xf16>
  %wide = mp.cast %row : (tensor<1x4xf16>) -> tensor<1x4xf32>
  // CHECK: mp.concat {{.*}} -> tensor<3x4xf32>
  %0 = mp.concat %cache, %wide {axis = 0 : i64, mp.keeps = 0 : i64} : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  // CHECK: mp.exp
  %e = mp.exp %half : (tensor<2x4xf16>) -> tensor<2x4xf16>
  %first = mp.slice %e {axes = array<i64: 0>, starts = array<i64: 0>, ends = array<i64: 1>} : (tensor<2x4xf16>) -> tensor<1x4xf16>
  // CHECK: mp.concat {{.*}} : (tensor<2x4xf16>, tensor<1x4xf16>) -> tensor<3x4xf16>
  %1 = mp.concat %half, %first {axis = 0 : i64, mp.keeps = 0 : i64} : (tensor<2x4xf16>, tensor<1x4xf16>) -> tensor<3x4xf16>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf16>
}
