// Two layers that mix f16 and f32.
module {
  func.func @main(%x: tensor<?x4xf16> {mp.name = "x"}, %ids: tensor<?xi64> {mp.name = "ids"}) -> tensor<?x4xf32> {
    %scale = mp.constant dense<1.0> : tensor<4xf32> loc(#scale)
    %0 = mp.exp %x : (tensor<?x4xf16>) -> tensor<?x4xf16> loc(#exp0)
    %1 = mp.mul %0, %scale : (tensor<?x4xf16>, tensor<4xf32>) -> tensor<?x4xf32> loc(#mul0)
    %2 = mp.exp %x : (tensor<?x4xf16>) -> tensor<?x4xf16> loc(#exp1)
    %3 = mp.mul %2, %scale : (tensor<?x4xf16>, tensor<4xf32>) -> tensor<?x4xf32> loc(#mul1)
    return %3 : tensor<?x4xf32>
  }
}
#file = loc("model.py":12:3)
#scale = loc(fused<#mp.origin<"scale", "Initializer", "", ["scale"]>>[#file])
#exp0 = loc(fused<#mp.origin<"/layers.0/Exp", "Exp", "", ["/layers.0/Exp_output_0"]>>[#file])
#mul0 = loc(fused<#mp.origin<"/layers.0/Mul", "Mul", "", ["/layers.0/Mul_output_0"]>>[#file])
#exp1 = loc(fused<#mp.origin<"/layers.1/Exp", "Exp", "", ["/layers.1/Exp_output_0"]>>[#file])
#mul1 = loc(fused<#mp.origin<"/layers.1/Mul", "Mul", "", ["/layers.1/Mul_output_0"]>>[#file])
