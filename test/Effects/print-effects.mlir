// The error of each output, and the tensors whose storage causes it.
// RUN: mpopt-opt %s --mp-apply-precision=mode=fp16 --mp-print-effects -verify-diagnostics

// expected-note @below {{% by the storage of 'x'}}
func.func @main(%x: tensor<64xf32> {mp.name = "x"})
    -> (tensor<64xf32> {mp.name = "small"}, tensor<64xf32> {mp.name = "cancelled"}) {
  // expected-remark-re @below {{output 'small': error 0.0{{[0-9]+}}%, rms 0.0{{[0-9]+}}%}}
  // expected-note @below {{% by the storage of this result}}
  %small = mp.tanh %x : (tensor<64xf32>) -> tensor<64xf32>
  %c = mp.constant dense<1000.0> : tensor<f32>
  // What the sum rounds away is missing in the difference.
  // expected-note @below {{% by the storage of this result}}
  %large = mp.add %small, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  // expected-remark-re @below {{output 'cancelled': error {{[1-9][0-9.]+}}%, rms {{[1-9][0-9.]+}}%}}
  %back = mp.sub %large, %c : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %small, %back : tensor<64xf32>, tensor<64xf32>
}
