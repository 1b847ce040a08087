// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --rule-loss-form --mp-emit-findings

// F16.
func.func @main(%x: tensor<8x4xf16>, %y: tensor<8x4xf16>) -> tensor<f16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %one = mp.constant dense<1.0> : tensor<f16>
  %q = mp.sub %one, %p : (tensor<f16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  // expected-warning @below {{the loss is log(1 - sigmoid(x)), which is -Inf in f16 from x = 8.31777 on, and its gradient NaN; -softplus(x) is the same, or binary_cross_entropy_with_logits of x [MP414 certain]}}
  %l = mp.log %q : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// The logarithm of a sigmoid.
func.func @main(%x: tensor<8x4xf16>, %y: tensor<8x4xf16>) -> tensor<f16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xf16>) -> tensor<8x4xf16>
  // expected-warning-re @below {{the loss is log(sigmoid(x)), which is -Inf in f16 below x = -{{.*}}, and its gradient NaN; log_sigmoid(x) is the same{{.*}} [MP414 certain]}}
  %l = mp.log %p : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// That of a softmax.
func.func @main(%x: tensor<8x4xf16>, %y: tensor<8x4xf16>) -> tensor<f16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.softmax %x {axis = 1} : (tensor<8x4xf16>) -> tensor<8x4xf16>
  // expected-warning-re @below {{the loss is log(softmax(x)), which is -Inf in f16 for scores that are {{.*}} below the largest, and its gradient NaN; log_softmax(x) is the same{{.*}} [MP414 certain]}}
  %l = mp.log %p : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// The loss of a sigmoid.
func.func @main(%x: tensor<8x4xf16>, %y: tensor<8x4xf16>) -> tensor<f16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xf16>) -> tensor<8x4xf16>
  // expected-warning-re @below {{the loss is binary_cross_entropy(sigmoid(x)): from x = {{.*}} on the probability is 1 in f16, the loss is cut off and no gradient is left; {{.*}} [MP414 certain]}}
  %loss = mp.binary_cross_entropy %p, %y : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// The stable form; an epsilon in front of the logarithm.
func.func @main(%x: tensor<8x4xf16>, %y: tensor<8x4xf16>) -> tensor<f16> {
  %e = mp.constant dense<1.0e-3> : tensor<f16>
  %s = mp.log_softmax %x {axis = 1, mp.loss_part} : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %p = mp.sigmoid %x : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %q = mp.add %p, %e : (tensor<8x4xf16>, tensor<f16>) -> tensor<8x4xf16>
  %r = mp.log %q {mp.loss_part} : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %l = mp.add %s, %r {mp.loss_part} : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf16>) -> tensor<f16>
  return %loss : tensor<f16>
}

// -----

// BF16.
func.func @main(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<bf16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %one = mp.constant dense<1.0> : tensor<bf16>
  %q = mp.sub %one, %p : (tensor<bf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // expected-warning @below {{the loss is log(1 - sigmoid(x)), which is -Inf in bf16 from x = 6.23832 on, and its gradient NaN; -softplus(x) is the same, or binary_cross_entropy_with_logits of x [MP414 certain]}}
  %l = mp.log %q : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// The logarithm of a sigmoid.
func.func @main(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<bf16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // expected-warning-re @below {{the loss is log(sigmoid(x)), which is -Inf in bf16 below x = -{{.*}}, and its gradient NaN; log_sigmoid(x) is the same{{.*}} [MP414 certain]}}
  %l = mp.log %p : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// That of a softmax.
func.func @main(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<bf16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.softmax %x {axis = 1} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // expected-warning-re @below {{the loss is log(softmax(x)), which is -Inf in bf16 for scores that are {{.*}} below the largest, and its gradient NaN; log_softmax(x) is the same{{.*}} [MP414 certain]}}
  %l = mp.log %p : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// The loss of a sigmoid.
func.func @main(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<bf16> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // expected-warning-re @below {{the loss is binary_cross_entropy(sigmoid(x)): from x = {{.*}} on the probability is 1 in bf16, the loss is cut off and no gradient is left; {{.*}} [MP414 certain]}}
  %loss = mp.binary_cross_entropy %p, %y : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// The stable form; an epsilon in front of the logarithm.
func.func @main(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<bf16> {
  %e = mp.constant dense<1.0e-3> : tensor<bf16>
  %s = mp.log_softmax %x {axis = 1, mp.loss_part} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %p = mp.sigmoid %x : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %q = mp.add %p, %e : (tensor<8x4xbf16>, tensor<bf16>) -> tensor<8x4xbf16>
  %r = mp.log %q {mp.loss_part} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %l = mp.add %s, %r {mp.loss_part} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xbf16>) -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// F32.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %one = mp.constant dense<1.0> : tensor<f32>
  %q = mp.sub %one, %p : (tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-warning @below {{the loss is log(1 - sigmoid(x)), which is -Inf in f32 from x = 17.3287 on, and its gradient NaN; -softplus(x) is the same, or binary_cross_entropy_with_logits of x [MP414 certain]}}
  %l = mp.log %q : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The logarithm of a sigmoid.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-warning-re @below {{the loss is log(sigmoid(x)), which is -Inf in f32 below x = -{{.*}}, and its gradient NaN; log_sigmoid(x) is the same{{.*}} [MP414 certain]}}
  %l = mp.log %p : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// That of a softmax.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.softmax %x {axis = 1} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-warning-re @below {{the loss is log(softmax(x)), which is -Inf in f32 for scores that are {{.*}} below the largest, and its gradient NaN; log_softmax(x) is the same{{.*}} [MP414 certain]}}
  %l = mp.log %p : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The loss of a sigmoid.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  // expected-note @below {{makes the probabilities}}
  %p = mp.sigmoid %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-warning-re @below {{the loss is binary_cross_entropy(sigmoid(x)): from x = {{.*}} on the probability is 1 in f32, the loss is cut off and no gradient is left; {{.*}} [MP414 certain]}}
  %loss = mp.binary_cross_entropy %p, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The stable form; an epsilon in front of the logarithm.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  %e = mp.constant dense<1.0e-3> : tensor<f32>
  %s = mp.log_softmax %x {axis = 1, mp.loss_part} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = mp.sigmoid %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %q = mp.add %p, %e : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %r = mp.log %q {mp.loss_part} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = mp.add %s, %r {mp.loss_part} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = mp.mul %l, %y {mp.loss_part} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = mp.reduce_mean %z {axes = array<i64: 0, 1>, mp.loss_part} : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// No loss reads the logarithm.
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<f32> {
  %p = mp.softmax %x {axis = 1} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = mp.log %p : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = mp.reduce_mean %l {axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
