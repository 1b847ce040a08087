// Integers that nobody describes lie where what they index needs them.

// RUN: mpopt --check %s --precision as-is --format json | FileCheck %s

module {
  func.func @main(%scores: tensor<2x10xf32> {mp.name = "scores"},
                  %pixels: tensor<2x6x4x4xf32> {mp.name = "pixels"},
                  %log_probs: tensor<5x2x8xf32> {mp.name = "log_probs"},
                  %boxes: tensor<3x4xf32> {mp.name = "boxes"},
                  %update: tensor<2xf32> {mp.name = "update"},
                  %label: tensor<2xi64> {mp.name = "label"},
                  %padded: tensor<2xi64> {mp.name = "padded"},
                  %void: tensor<2x4x4xi64> {mp.name = "void"},
                  %soft: tensor<2xi32> {mp.name = "soft"},
                  %late: tensor<2xi64> {mp.name = "late"},
                  %unknown: tensor<2xi64> {mp.name = "unknown"},
                  %margin: tensor<2xi64> {mp.name = "margin"},
                  %several: tensor<2x10xi64> {mp.name = "several"},
                  %text: tensor<2x3xi64> {mp.name = "text"},
                  %lengths: tensor<2xi64> {mp.name = "lengths"},
                  %region: tensor<3xi64> {mp.name = "region"},
                  %scattered: tensor<2x1xi64> {mp.name = "scattered"},
                  %tuples: tensor<2x2xi64> {mp.name = "tuples"},
                  %written: tensor<2x1xi64> {mp.name = "written"},
                  %shifted: tensor<1x3xi32> {mp.name = "shifted"},
                  %both: tensor<2xi64> {mp.name = "both"}) -> () {
    %weight = mp.constant dense<1.0> : tensor<10xf32>
    %minus = mp.constant dense<-1> : tensor<i64>
    %starts = mp.constant dense<[1]> : tensor<1xi64>
    %ends = mp.constant dense<[3]> : tensor<1xi64>
    %axes = mp.constant dense<[1]> : tensor<1xi64>
    %0 = mp.cross_entropy %scores, %label weight %weight : (tensor<2x10xf32>, tensor<2xi64>, tensor<10xf32>) -> tensor<f32>
    %1 = mp.cross_entropy %scores, %padded {ignore_index = -100 : i64} : (tensor<2x10xf32>, tensor<2xi64>) -> tensor<f32>
    %2 = mp.nll_loss %pixels, %void {ignore_index = 255 : i64} : (tensor<2x6x4x4xf32>, tensor<2x4x4xi64>) -> tensor<f32>
    %3:2 = mp.softmax_cross_entropy %scores, %soft {ignore_index = 3 : i64} : (tensor<2x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x10xf32>)
    %4:2 = mp.softmax_cross_entropy %scores, %late ignore %minus : (tensor<2x10xf32>, tensor<2xi64>, tensor<i64>) -> (tensor<f32>, tensor<2x10xf32>)
    %id = mp.reshape %minus, %starts : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
    %any = mp.add %id, %lengths : (tensor<1xi64>, tensor<2xi64>) -> tensor<2xi64>
    %5:2 = mp.softmax_cross_entropy %scores, %unknown ignore %any : (tensor<2x10xf32>, tensor<2xi64>, tensor<2xi64>) -> (tensor<f32>, tensor<2x10xf32>)
    %6 = mp.multi_margin_loss %scores, %margin : (tensor<2x10xf32>, tensor<2xi64>) -> tensor<f32>
    %7 = mp.multilabel_margin_loss %scores, %several : (tensor<2x10xf32>, tensor<2x10xi64>) -> tensor<f32>
    %8 = mp.ctc_loss %log_probs, %text, %lengths, %lengths : (tensor<5x2x8xf32>, tensor<2x3xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<f32>
    %9 = mp.roi_align %pixels, %boxes, %region {output_height = 1 : i64, output_width = 1 : i64} : (tensor<2x6x4x4xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x6x1x1xf32>
    %10 = mp.scatter_elements %scores, %scattered, %scores {axis = 1 : i64} : (tensor<2x10xf32>, tensor<2x1xi64>, tensor<2x10xf32>) -> tensor<2x10xf32>
    %11 = mp.gather_nd %scores, %tuples : (tensor<2x10xf32>, tensor<2x2xi64>) -> tensor<2xf32>
    %12 = mp.scatter_nd %weight, %written, %update : (tensor<10xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<10xf32>
    %cut = mp.slice %shifted starts %starts ends %ends axes %axes : (tensor<1x3xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2xi32>
    %all = mp.constant dense<-1> : tensor<1xi64>
    %flat = mp.reshape %cut, %all : (tensor<1x2xi32>, tensor<1xi64>) -> tensor<2xi32>
    %wide = mp.cast %flat : (tensor<2xi32>) -> tensor<2xi64>
    %13 = mp.nll_loss %scores, %wide {ignore_index = -100 : i64} : (tensor<2x10xf32>, tensor<2xi64>) -> tensor<f32>
    %14 = mp.cross_entropy %scores, %both {ignore_index = -100 : i64} : (tensor<2x10xf32>, tensor<2xi64>) -> tensor<f32>
    %15 = mp.gather %log_probs, %both : (tensor<5x2x8xf32>, tensor<2xi64>) -> tensor<2x2x8xf32>
    return
  }
}

// CHECK:      "input": "label",
// CHECK-NEXT: "lo": 0,
// CHECK-NEXT: "hi": 9,
// CHECK-NEXT: "mean": 4.5,
// CHECK:      "why": "is one of 10 classes"
// CHECK:      "input": "padded",
// CHECK-NEXT: "lo": -100,
// CHECK-NEXT: "hi": 9,
// CHECK-NEXT: "mean": 4.5,
// CHECK:      "why": "is one of 10 classes or -100, which counts nothing"
// CHECK:      "input": "void",
// CHECK-NEXT: "lo": 0,
// CHECK-NEXT: "hi": 255,
// CHECK-NEXT: "mean": 2.5,
// CHECK:      "why": "is one of 6 classes or 255, which counts nothing"
// CHECK:      "input": "soft",
// CHECK-NEXT: "lo": 0,
// CHECK-NEXT: "hi": 9,
// CHECK:      "input": "late",
// CHECK-NEXT: "lo": -1,
// CHECK-NEXT: "hi": 9,
// What is ignored is not known: any number may be.
// CHECK:      "input": "unknown",
// CHECK:      "why": "all of i64"
// CHECK:      "input": "margin",
// CHECK-NEXT: "lo": 0,
// CHECK-NEXT: "hi": 9,
// CHECK:      "input": "several",
// CHECK-NEXT: "lo": -1,
// CHECK-NEXT: "hi": 9,
// CHECK:      "input": "text",
// CHECK-NEXT: "lo": 0,
// CHECK-NEXT: "hi": 7,
// Lengths index nothing.
// CHECK:      "input": "lengths",
// CHECK:      "why": "all of i64"
// CHECK:      "input": "region",
// CHECK-NEXT: "lo": 0,
// CHECK-NEXT: "hi": 1,
// CHECK:      "input": "scattered",
// CHECK-NEXT: "lo": -10,
// CHECK-NEXT: "hi": 9,
// CHECK:      "input": "tuples",
// CHECK-NEXT: "lo": -10,
// CHECK-NEXT: "hi": 9,
// CHECK:      "why": "picks one of up to 10 slices of scores"
// CHECK:      "input": "written",
// CHECK-NEXT: "lo": -10,
// CHECK-NEXT: "hi": 9,
// CHECK:      "input": "shifted",
// CHECK-NEXT: "lo": -100,
// CHECK-NEXT: "hi": 9,
// Both ops take it: -100 is no index of the gather, 9 neither.
// CHECK:      "input": "both",
// CHECK-NEXT: "lo": -5,
// CHECK-NEXT: "hi": 4,
