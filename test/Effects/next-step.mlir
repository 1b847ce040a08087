// A report says near its top what to do.
// RUN: split-file %s %t
// RUN: mpopt --check %t/sound.mlir --precision fp16 | FileCheck %s --check-prefix SOUND
// RUN: not mpopt --check %t/harmed.mlir --precision fp16 | FileCheck %s --check-prefix HARMED
// RUN: not mpopt --check %t/stored.mlir | FileCheck %s --check-prefix STORED
// RUN: mpopt --check %t/unknown.mlir --precision fp16 | FileCheck %s --check-prefix UNKNOWN
// RUN: mpopt --check %t/unknown.mlir --precision fp16 --input x=-1:1 | FileCheck %s --check-prefix DECLARED
// RUN: mpopt --check %t/several.mlir --precision fp16 | FileCheck %s --check-prefix SEVERAL
// RUN: not mpopt --check %t/both.mlir --precision fp16 | FileCheck %s --check-prefix BOTH

// SOUND: fp16 is expected to change `result` by {{.*}}: fine
// SOUND-NEXT: next: nothing to do
// HARMED: fp16 is expected to make Inf or NaN of `result`
// HARMED-NEXT: next: fix the error below, or keep in FP32 what --keep-fp32 FILE lists
// STORED: storage in its own dtypes is expected to make Inf or NaN of `result`
// STORED-NEXT: next: fix the error below{{$}}
// UNKNOWN: the effect of fp16 on `result` is not known: nothing is estimated of the result of
// UNKNOWN-NEXT: `mp.opaque`
// UNKNOWN-NEXT: next: run it with probes to know (--instrument), and report that no estimate passes
// UNKNOWN-NEXT: mp.opaque
// DECLARED: the effect of fp16 on `result` is not known
// DECLARED: next: run it with probes to know (--instrument), and report that no estimate passes
// DECLARED-NEXT: mp.opaque
// SEVERAL: the effect of fp16 on `a`, `b`, `c` and 1 more output is not known: nothing is estimated of
// SEVERAL-NEXT: the result of `mp.opaque`
// SEVERAL-NEXT: fp16 is expected to change `e` by {{.*}}: fine
// BOTH: the effect of fp16 on `result` is not known
// BOTH: next: fix the warning below, or keep in FP32 what --keep-fp32 FILE lists

//--- sound.mlir
func.func @main(%x: tensor<64xf32> {mp.name = "x"}) -> (tensor<64xf32> {mp.name = "result"}) {
  %0 = mp.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- harmed.mlir
func.func @main(%x: tensor<64xf32> {mp.name = "x"}) -> (tensor<64xf32> {mp.name = "result"}) {
  %c = mp.constant dense<50000.0> : tensor<f32>
  %0 = mp.mul %x, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- stored.mlir
func.func @main(%x: tensor<64xf16> {mp.name = "x"}) -> (tensor<64xf16> {mp.name = "result"}) {
  %c = mp.constant dense<50000.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

//--- unknown.mlir
func.func @main(%x: tensor<64xf32> {mp.name = "x"}) -> (tensor<64xf32> {mp.name = "result"}) {
  %0 = mp.opaque "acme::Foo"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- several.mlir
func.func @main(%x: tensor<64xf32> {mp.name = "x"})
    -> (tensor<64xf32> {mp.name = "a"}, tensor<64xf32> {mp.name = "b"}, tensor<64xf32> {mp.name = "c"},
        tensor<64xf32> {mp.name = "d"}, tensor<64xf32> {mp.name = "e"}) {
  %0 = mp.opaque "acme::Foo"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = mp.neg %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %0, %0, %0, %1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

//--- both.mlir
func.func @main(%x: tensor<2xf32> {mp.name = "x"}) -> (tensor<2xf32> {mp.name = "result"}) {
  %c = mp.constant dense<[1.0e-9, 2.0e-9]> : tensor<2xf32>
  %0 = mp.mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = mp.opaque "acme::Foo"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
