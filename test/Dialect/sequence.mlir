// RUN: mpopt-opt %s --mp-infer-types --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @lists
func.func @lists(%a: tensor<4x2xf32>, %b: tensor<5x2xf32>, %i: tensor<i64>) {
  // CHECK: mp.sequence_construct {{.*}} -> !mp.sequence<tensor<?x2xf32>>
  %s = mp.sequence_construct %a, %b : (tensor<4x2xf32>, tensor<5x2xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.sequence_length {{.*}} -> tensor<i64>
  %n = mp.sequence_length %s : (tensor<*x!mp.unknown>) -> tensor<*xi64>
  %one = mp.constant dense<1> : tensor<i64>
  // CHECK: mp.sequence_at %{{.*}} at %{{.*}} -> tensor<5x2xf32>
  %x = mp.sequence_at %s at %one : (tensor<*x!mp.unknown>, tensor<i64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.sequence_at %{{.*}} at %{{.*}} -> tensor<?x2xf32>
  %y = mp.sequence_at %s at %i : (tensor<*x!mp.unknown>, tensor<i64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.concat_from_sequence {{.*}} -> tensor<9x2xf32>
  %c = mp.concat_from_sequence %s {axis = 0 : i64} : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  // CHECK: mp.concat_from_sequence {{.*}} -> tensor<?x2x2xf32>
  %d = mp.concat_from_sequence %s {axis = -1 : i64, new_axis = true} : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  // CHECK: mp.sequence_erase {{.*}} -> !mp.sequence<tensor<?x2xf32>>
  %e = mp.sequence_erase %s : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @insert
func.func @insert(%a: tensor<4x2xf32>, %b: tensor<5xf32>, %i: tensor<i64>) {
  // CHECK: mp.sequence_empty : () -> !mp.sequence<tensor<*xf32>>
  %0 = mp.sequence_empty : () -> !mp.sequence<tensor<*xf32>>
  // CHECK: mp.sequence_insert %{{.*}}, %{{.*}} : {{.*}} -> !mp.sequence<tensor<4x2xf32>>
  %1 = mp.sequence_insert %0, %a : (!mp.sequence<tensor<*xf32>>, tensor<4x2xf32>) -> !mp.sequence<tensor<*xf32>>
  // CHECK: mp.sequence_insert %{{.*}}, %{{.*}} at %{{.*}} : {{.*}} -> !mp.sequence<tensor<*xf32>>
  %2 = mp.sequence_insert %1, %b at %i : (!mp.sequence<tensor<*xf32>>, tensor<5xf32>, tensor<i64>) -> !mp.sequence<tensor<*xf32>>
  return
}

// CHECK-LABEL: @splits
func.func @splits(%x: tensor<6x3xf32>) {
  // CHECK: mp.split_to_sequence {{.*}} -> !mp.sequence<tensor<1x3xf32>>
  %0 = mp.split_to_sequence %x : (tensor<6x3xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.split_to_sequence {{.*}} -> !mp.sequence<tensor<6xf32>>
  %1 = mp.split_to_sequence %x {axis = 1 : i64, keep_dims = false} : (tensor<6x3xf32>) -> tensor<*x!mp.unknown>
  %two = mp.constant dense<2> : tensor<i64>
  // CHECK: mp.split_to_sequence %{{.*}} by %{{.*}} -> !mp.sequence<tensor<2x3xf32>>
  %2 = mp.split_to_sequence %x by %two : (tensor<6x3xf32>, tensor<i64>) -> tensor<*x!mp.unknown>
  // The last slice of axis 1 is smaller.
  // CHECK: mp.split_to_sequence {{.*}} -> !mp.sequence<tensor<6x?xf32>>
  %3 = mp.split_to_sequence %x by %two {axis = 1 : i64} : (tensor<6x3xf32>, tensor<i64>) -> tensor<*x!mp.unknown>
  return
}

// CHECK-LABEL: @map
func.func @map(%s: !mp.sequence<tensor<?x4xf32>>, %t: tensor<4xf32>) -> tensor<*x!mp.unknown> {
  // CHECK: mp.sequence_map {{.*}} -> !mp.sequence<tensor<?x4xf32>> {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<4xf32>):
  %r = mp.sequence_map %s, %t : (!mp.sequence<tensor<?x4xf32>>, tensor<4xf32>) -> tensor<*x!mp.unknown> {
  ^bb0(%x: tensor<*xf32>, %y: tensor<*xf32>):
    %0 = mp.add %x, %y : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    mp.yield %0 : tensor<*xf32>
  }
  return %r : tensor<*x!mp.unknown>
}

// CHECK-LABEL: @optionals
func.func @optionals(%x: tensor<4xf32>) {
  // CHECK: mp.optional {{.*}} -> !mp.optional<tensor<4xf32>>
  %0 = mp.optional %x : (tensor<4xf32>) -> tensor<*x!mp.unknown>
  // CHECK: mp.optional_get_element {{.*}} -> tensor<4xf32>
  %1 = mp.optional_get_element %0 : (tensor<*x!mp.unknown>) -> tensor<*x!mp.unknown>
  // CHECK: mp.optional_has_element {{.*}} -> tensor<i1>
  %2 = mp.optional_has_element %0 : (tensor<*x!mp.unknown>) -> tensor<*xi1>
  // CHECK: mp.optional : () -> !mp.optional<tensor<*xf32>>
  %3 = mp.optional : () -> !mp.optional<tensor<*xf32>>
  return
}

// CHECK-LABEL: @strings
func.func @strings(%a: tensor<3x!mp.string>, %b: tensor<1x!mp.string>, %n: tensor<2x9xi64>, %bytes: tensor<?xui8>) {
  // CHECK: mp.string_concat {{.*}} -> tensor<3x!mp.string>
  %0 = mp.string_concat %a, %b : (tensor<3x!mp.string>, tensor<1x!mp.string>) -> tensor<*x!mp.unknown>
  // CHECK: mp.string_normalizer {{.*}} -> tensor<3x!mp.string>
  %1 = mp.string_normalizer %a {case_action = "LOWER"} : (tensor<3x!mp.string>) -> tensor<*x!mp.unknown>
  // CHECK: mp.string_normalizer {{.*}} -> tensor<?x!mp.string>
  %2 = mp.string_normalizer %a {stop_words = ["a"]} : (tensor<3x!mp.string>) -> tensor<*x!mp.unknown>
  // CHECK: mp.string_split {{.*}} -> (tensor<3x?x!mp.string>, tensor<3xi64>)
  %3:2 = mp.string_split %a : (tensor<3x!mp.string>) -> (tensor<*x!mp.unknown>, tensor<*x!mp.unknown>)
  // CHECK: mp.regex_full_match {{.*}} -> tensor<3xi1>
  %4 = mp.regex_full_match %a {pattern = "a*"} : (tensor<3x!mp.string>) -> tensor<*x!mp.unknown>
  // CHECK: mp.tf_idf_vectorizer {{.*}} -> tensor<2x7xf32>
  %5 = mp.tf_idf_vectorizer %n {mode = "TF", min_gram_length = 1 : i64, max_gram_length = 1 : i64, max_skip_count = 0 : i64,
    ngram_counts = array<i64: 0>, ngram_indexes = array<i64: 0, 6, 2>, pool_ints = array<i64: 3, 4, 5>}
    : (tensor<2x9xi64>) -> tensor<*x!mp.unknown>
  // CHECK: mp.image_decoder {{.*}} -> tensor<?x?x1xui8>
  %6 = mp.image_decoder %bytes {pixel_format = "Grayscale"} : (tensor<?xui8>) -> tensor<*x!mp.unknown>
  return
}
