// One hazard has one root: text shows it with what follows, JSON lists all.
// RUN: not mpopt --check %s --select MP2 --format json | FileCheck %s --check-prefix JSON
// RUN: not mpopt --check %s --select MP2 | FileCheck %s

// JSON:     "rule": "MP201"
// JSON-NOT: "root"
// JSON:     "fingerprint": "[[ROOT:[0-9a-f-]+]]"
// JSON:     "rule": "MP201"
// JSON:     "root": "[[ROOT]]"
// JSON:     "rule": "MP201"
// JSON:     "root": "[[ROOT]]"

// CHECK:     error[MP201]: overflow
// CHECK:     --> mp.mul
// CHECK:     2 other findings follow from it
// What the file returns stays f16: nothing in between helps.
// CHECK:     tried, not enough on its own: keep the op and its result in f32
// CHECK-NOT: safe fix
// CHECK-NOT: --> mp.neg
// CHECK:     1 error and 2 that follow (0 certain, 3 likely, 0 possible)

func.func @main(%x: tensor<64xf16>) -> tensor<64xf16> {
  %c = mp.constant dense<30000.0> : tensor<f16>
  %0 = mp.mul %x, %c : (tensor<64xf16>, tensor<f16>) -> tensor<64xf16>
  %1 = mp.neg %0 : (tensor<64xf16>) -> tensor<64xf16>
  %2 = mp.abs %1 : (tensor<64xf16>) -> tensor<64xf16>
  return %2 : tensor<64xf16>
}
