// y is the first column of x.
module {
  func.func @main(%x: tensor<2x3xf32> {mp.name = "x"}) -> tensor<2x1xf32> {
    %w = mp.constant dense<[[1.0], [0.0], [0.0]]> : tensor<3x1xf32>
    %0 = mp.matmul %x, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32> loc(#y)
    return %0 : tensor<2x1xf32>
  }
}
#file = loc("model.py":12:3)
#y = loc(fused<#mp.origin<"MatMul", "MatMul", "", ["y"]>>[#file])
