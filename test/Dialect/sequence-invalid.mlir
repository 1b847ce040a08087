// RUN: mpopt-opt %s -split-input-file -verify-diagnostics --mp-infer-types

func.func @position(%a: tensor<f32>) {
  %s = mp.sequence_construct %a : (tensor<f32>) -> !mp.sequence<tensor<f32>>
  %i = mp.constant dense<1> : tensor<i64>
  // expected-error @+1 {{position 1 of a list of 1}}
  %x = mp.sequence_at %s at %i : (!mp.sequence<tensor<f32>>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @split_axis(%x: tensor<6x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range of 'tensor<6x3xf32>'}}
  %0 = mp.split_to_sequence %x {axis = 2 : i64} : (tensor<6x3xf32>) -> !mp.sequence<tensor<*xf32>>
  return
}

// -----

func.func @split_rank(%x: tensor<6x3xf32>, %s: tensor<1x2xi64>) {
  // expected-error @+1 {{split must be a scalar or a list}}
  %0 = mp.split_to_sequence %x by %s : (tensor<6x3xf32>, tensor<1x2xi64>) -> !mp.sequence<tensor<*xf32>>
  return
}

// -----

func.func @map_arguments(%s: !mp.sequence<tensor<f32>>) {
  // expected-error @+1 {{body must have 1 arguments, has 0}}
  mp.sequence_map %s : (!mp.sequence<tensor<f32>>) -> () {
    mp.yield
  }
  return
}

// -----

func.func @case(%x: tensor<3x!mp.string>) {
  // expected-error @+1 {{case_action must be LOWER, UPPER or NONE, is TITLE}}
  %0 = mp.string_normalizer %x {case_action = "TITLE"} : (tensor<3x!mp.string>) -> tensor<3x!mp.string>
  return
}

// -----

func.func @pixels(%x: tensor<3xui8>) {
  // expected-error @+1 {{pixel_format must be RGB, BGR or Grayscale, is CMYK}}
  %0 = mp.image_decoder %x {pixel_format = "CMYK"} : (tensor<3xui8>) -> tensor<?x?x3xui8>
  return
}

// -----

func.func @grams(%x: tensor<3xi64>) {
  // expected-error @+1 {{needs n-grams}}
  %0 = mp.tf_idf_vectorizer %x {mode = "TF", min_gram_length = 1 : i64, max_gram_length = 1 : i64, max_skip_count = 0 : i64,
    ngram_counts = array<i64: 0>, ngram_indexes = array<i64>} : (tensor<3xi64>) -> tensor<*xf32>
  return
}
