// RUN: mpopt-opt %s --mp-print-ranges -verify-diagnostics=only-expected

func.func @lists(%a: tensor<2xf32> {mp.assume = {lo = -1.0 : f64, hi = 0.0 : f64, mean = 0.0 : f64, std = 1.0 : f64}}, %b: tensor<2xf32> {mp.assume = {lo = 2.0 : f64, hi = 3.0 : f64, mean = 2.5 : f64, std = 0.1 : f64}}, %i: tensor<i64>) {
  // expected-remark @below {{none integral}}
  %e = mp.sequence_empty : () -> !mp.sequence<tensor<2xf32>>
  // Nothing but what is put in.
  // expected-remark @below {{[-1, 0]}}
  %0 = mp.sequence_insert %e, %a : (!mp.sequence<tensor<2xf32>>, tensor<2xf32>) -> !mp.sequence<tensor<2xf32>>
  // expected-remark @below {{[-1, 3]}}
  %1 = mp.sequence_construct %a, %b : (tensor<2xf32>, tensor<2xf32>) -> !mp.sequence<tensor<2xf32>>
  // expected-remark @below {{[-1, 3]}}
  %2 = mp.sequence_at %1 at %i : (!mp.sequence<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  // expected-remark @below {{[-1, 0]}}
  %3 = mp.concat_from_sequence %0 {axis = 0 : i64} : (!mp.sequence<tensor<2xf32>>) -> tensor<?xf32>
  // expected-remark @below {{[2, 2] integral}}
  %4 = mp.sequence_length %1 : (!mp.sequence<tensor<2xf32>>) -> tensor<i64>
  // expected-remark @below {{[0, 3]}}
  %5 = mp.sequence_map %1 : (!mp.sequence<tensor<2xf32>>) -> !mp.sequence<tensor<2xf32>> {
  ^bb0(%x: tensor<2xf32>):
    // expected-remark @below {{[0, 3]}}
    %y = mp.relu %x : (tensor<2xf32>) -> tensor<2xf32>
    mp.yield %y : tensor<2xf32>
  }
  // expected-remark @below {{[2, 3]}}
  %6 = mp.optional %b : (tensor<2xf32>) -> !mp.optional<tensor<2xf32>>
  // expected-remark @below {{[2, 3]}}
  %7 = mp.optional_get_element %6 : (!mp.optional<tensor<2xf32>>) -> tensor<2xf32>
  return
}
