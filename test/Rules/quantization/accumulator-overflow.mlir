// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-accumulator-overflow --mp-emit-findings

// 255 times 127 a term: 66,312 of them pass 2^31.
func.func @long(%x: tensor<1x70000xui8>) -> tensor<1x2xsi32> {
  // expected-note @below {{has the weights}}
  %w = mp.constant dense<127> : tensor<70000x2xsi8>
  // expected-error @below {{2 output channels}}
  %y = mp.matmul_integer %x, %w : (tensor<1x70000xui8>, tensor<70000x2xsi8>) -> tensor<1x2xsi32>
  return %y : tensor<1x2xsi32>
}

// -----

func.func @short(%x: tensor<1x3xui8>) -> tensor<1x2xsi32> {
  %w = mp.constant dense<[[127, -127], [127, -127], [127, -127]]> : tensor<3x2xsi8>
  %y = mp.matmul_integer %x, %w : (tensor<1x3xui8>, tensor<3x2xsi8>) -> tensor<1x2xsi32>
  return %y : tensor<1x2xsi32>
}
