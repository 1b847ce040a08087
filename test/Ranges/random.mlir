// RUN: mpopt-opt %s --mp-print-ranges="likely" -verify-diagnostics=only-expected

func.func @generators(%shape: tensor<2xi64>, %p: tensor<4xf32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.25 : f64, std = 0.1 : f64}}, %logits: tensor<2x7xf32>) {
  // No generator reaches 14 standard deviations.
  // expected-remark @below {{[-27, 29] likely (declared) [-5.06971, 7.06971] mean 1 std 2}}
  %0 = mp.random_normal %shape {mean = 1.0 : f64, scale = 2.0 : f64} : (tensor<2xi64>) -> tensor<10x10xf32>
  // expected-remark @below {{[-1, 1] likely (declared) [-1, 1] mean 0 std 0.57735}}
  %1 = mp.random_uniform %shape {low = -1.0 : f64} : (tensor<2xi64>) -> tensor<10x10xf32>
  // expected-remark @below {{[3, 6] integral likely (propagated) [3, 6] mean 4.5 std 0.866025}}
  %2 = mp.random_int %shape {low = 3 : i64, high = 7 : i64} : (tensor<2xi64>) -> tensor<10x10xi64>
  // expected-remark @below {{[0, 1] integral likely (propagated) [0, 1] mean 0.25 std 0.433013}}
  %3 = mp.bernoulli %p : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{[0, 6] integral likely (propagated) [0, 6] mean 3 std 1.73205}}
  %4 = mp.multinomial %logits : (tensor<2x7xf32>) -> tensor<2x1xi32>
  return
}

func.func @dropout(%x: tensor<4xf32> {mp.assume = {lo = 1.0 : f64, hi = 2.0 : f64, mean = 1.5 : f64, std = 0.1 : f64}}, %training: tensor<i1>, %ratio: tensor<f32> {mp.assume = {lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.5 : f64, std = 0.1 : f64}}) {
  // Nothing is dropped, and nothing scaled, at inference.
  // expected-remark @below {{[1, 2] likely (declared) [1.32679, 1.67321] mean 1.5 std 0.1}}
  %0 = mp.dropout %x : (tensor<4xf32>) -> tensor<4xf32>
  // What the mask is then differs by opset and kernel.
  // expected-remark @+2 {{#0: [1, 2]}}
  // expected-remark @below {{#1: [0, 1] integral likely (propagated) [1, 1] mean 1 std 0}}
  %5, %6 = mp.dropout %x : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  // expected-remark @+2 {{#0: [0, 8] likely (propagated) [0, 6.69282] mean 1.5 std 2.60576}}
  // expected-remark @below {{#1: [0, 1] integral likely (propagated) [0, 1] mean 0.25 std 0.433013}}
  %1, %2 = mp.dropout %x {training, ratio = 0.75 : f64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  // expected-remark @below {{[0, 4] likely (propagated) [0, 3.34641] mean 1.5 std 1.50665}}
  %3 = mp.dropout %x training %training : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
  // A ratio close to 1 scales without limit.
  // expected-remark @below {{[0, inf] +inf likely (propagated) [0, 3.34641] mean 1.5 std 1.50665}}
  %4 = mp.dropout %x ratio %ratio {training} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
