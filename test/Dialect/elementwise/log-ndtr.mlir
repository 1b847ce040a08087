// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @log_ndtr
func.func @log_ndtr(%input: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: mp.log_ndtr %
  %0 = mp.log_ndtr %input : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
