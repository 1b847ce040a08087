// An error that crosses the edge of a step becomes a whole one: the largest is
// one of some 35 (0.0286 and 0.0303 measured), not what rounding to FP16 does.
// RUN: split-file %s %t
// RUN: not mpopt --check %t/round.mlir --format json | FileCheck %s --check-prefix STEP
// RUN: not mpopt --check %t/quantize.mlir --precision fp16 --format json | FileCheck %s --check-prefix STEP
// RUN: mpopt --check %t/clamped.mlir --precision fp16 --format json | FileCheck %s --check-prefix CLAMPED
// RUN: mpopt --check %t/whole.mlir --format json | FileCheck %s --check-prefix WHOLE
// RUN: mpopt --check %t/wide.mlir --input arg0=-0.1:0.1 --input arg0~0,0.03 --format json | FileCheck %s --check-prefix WHOLE
//
// A number that is whole already does not move, nor one that stays within a step.
// STEP: "expected_error": 0.0{{2[5-9]|3[0-3]}}
// WHOLE: "expected_error": 0.000
//
// What is clamped to the zero point does not move (0.0022 measured).
// CLAMPED: "expected_rms": 0.00{{[12]}}

//--- round.mlir
func.func @main(%x: tensor<4096xf16>) -> (tensor<4096xf16> {mp.name = "result"}) {
  %c = mp.constant dense<9.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<4096xf16>, tensor<f16>) -> tensor<4096xf16>
  %1 = mp.round %0 : (tensor<4096xf16>) -> tensor<4096xf16>
  return %1 : tensor<4096xf16>
}

//--- quantize.mlir
func.func @main(%x: tensor<4096xf32>) -> (tensor<4096xf32> {mp.name = "result"}) {
  %c = mp.constant dense<1.7> : tensor<f32>
  %scale = mp.constant dense<0.2> : tensor<f32>
  %zero = mp.constant dense<0> : tensor<si8>
  %0 = mp.mul %x, %c : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %q = mp.quantize %0, %scale zero_point %zero : (tensor<4096xf32>, tensor<f32>, tensor<si8>) -> tensor<4096xsi8>
  %1 = mp.dequantize %q, %scale zero_point %zero : (tensor<4096xsi8>, tensor<f32>, tensor<si8>) -> tensor<4096xf32>
  return %1 : tensor<4096xf32>
}

//--- whole.mlir
func.func @main(%x: tensor<4096xf16>) -> (tensor<4096xf16> {mp.name = "result"}) {
  %0 = mp.round %x : (tensor<4096xf16>) -> tensor<4096xf16>
  %1 = mp.floor %0 : (tensor<4096xf16>) -> tensor<4096xf16>
  %2 = mp.add %1, %x : (tensor<4096xf16>, tensor<4096xf16>) -> tensor<4096xf16>
  return %2 : tensor<4096xf16>
}

//--- wide.mlir
func.func @main(%x: tensor<4096xf16>) -> (tensor<4096xf16> {mp.name = "result"}) {
  %c = mp.constant dense<1.7> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<4096xf16>, tensor<f16>) -> tensor<4096xf16>
  %1 = mp.round %0 : (tensor<4096xf16>) -> tensor<4096xf16>
  %2 = mp.add %1, %0 : (tensor<4096xf16>, tensor<4096xf16>) -> tensor<4096xf16>
  return %2 : tensor<4096xf16>
}

//--- clamped.mlir
func.func @main(%x: tensor<4096xf32>) -> (tensor<4096xf32> {mp.name = "result"}) {
  %c = mp.constant dense<1.7> : tensor<f32>
  %scale = mp.constant dense<0.05> : tensor<f32>
  %zero = mp.constant dense<-128> : tensor<si8>
  %0 = mp.mul %x, %c : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %q = mp.quantize %0, %scale zero_point %zero : (tensor<4096xf32>, tensor<f32>, tensor<si8>) -> tensor<4096xsi8>
  %1 = mp.dequantize %q, %scale zero_point %zero : (tensor<4096xsi8>, tensor<f32>, tensor<si8>) -> tensor<4096xf32>
  return %1 : tensor<4096xf32>
}
