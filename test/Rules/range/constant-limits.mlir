// RUN: mpopt-opt %s -split-input-file --mp-apply-precision="mode=fp16 policy=onnxconverter-common-float16" -verify-diagnostics --rule-constant-overflow --rule-constant-underflow --mp-emit-findings

// The converter writes 10000, which is finite and half of what the model has.
func.func @scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{is written within the limit}}
  %c = mp.constant dense<2.0e4> : tensor<f32>
  // expected-warning @below {{constant 20000 becomes 10000, the policy's limit for constants}}
  %y = mp.mul %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @weight(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  // expected-note @below {{is written within the limit}}
  %c = mp.constant dense<[[-7.0e4, 1.0], [2.0, 1.0e-9]]> : tensor<2x2xf32>
  // expected-warning @below {{values of the constant, of magnitudes up to 70000, become 10000}}
  %y = mp.matmul %x, %c : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// -----

// What masks scores still masks them.
func.func @mask(%x: tensor<4x16xf32>, %m: tensor<4x16xi1>) -> tensor<4x16xf32> {
  %f = mp.cast %m : (tensor<4x16xi1>) -> tensor<4x16xf32>
  %c = mp.constant dense<-1.0e9> : tensor<f32>
  %a = mp.mul %f, %c : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %s = mp.add %x, %a : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = mp.softmax %s {axis = -1} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

func.func @epsilon(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{is written within the limit}}
  %c = mp.constant dense<1.0e-12> : tensor<f32>
  // expected-remark @below {{constant 1e-12 becomes 1e-07, the policy's limit for constants}}
  %d = mp.add %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = mp.sqrt %d : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
