// RUN: mpopt-opt %s -split-input-file -verify-diagnostics

func.func @weight_size() {
  // expected-error @below {{weight of 8 bytes does not fit the type}}
  %0 = mp.constant file("model.onnx", 0:8) : tensor<3xf32>
  return
}

// -----

func.func @saturating_integer(%x: tensor<2xf32>) {
  // expected-error @below {{saturates to 8-bit floats only, not to 'i8'}}
  %0 = mp.cast %x {saturate} : (tensor<2xf32>) -> tensor<2xi8>
  return
}

// -----

func.func @round_mode(%x: tensor<2xf32>) {
  // expected-error @below {{unknown round mode 'sideways'}}
  %0 = mp.cast %x {round_mode = "sideways"} : (tensor<2xf32>) -> tensor<2xf8E8M0FNU>
  return
}

// -----

func.func @custom_like(%x: tensor<2xf32>) {
  // expected-error @below {{has no operand 1}}
  %0 = mp.custom %x {name = "a::b", like = 1 : i64, lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0>, dtypes = [f32], accumulator = f32} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @custom_slopes(%x: tensor<2xf32>) {
  // expected-error @below {{has 2 slopes and 1 operands}}
  %0 = mp.custom %x {name = "a::b", like = 0 : i64, lo = 0.0 : f64, hi = 1.0 : f64, mean = 0.0 : f64, deviation = 1.0 : f64, slopes = array<f64: 1.0, 2.0>, dtypes = [f32], accumulator = f32} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
