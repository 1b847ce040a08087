// RUN: not mpopt-opt --mp-apply-precision=mode=fp17 %s 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not mpopt-opt --mp-apply-precision=policy=none %s 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: echo '{"name": "mine", "kind": "autocast", "framework": "pytorch", "categories": {"fp33": ["exp"]}}' > %t.json
// RUN: not mpopt-opt --mp-apply-precision=policy=%t.json %s 2>&1 | FileCheck %s --check-prefix=KEY

// MODE: error: unknown precision 'fp17'
// POLICY: error: policy 'none': no such file, and none of pytorch-cuda-2.14
// KEY: error: policy '{{.*}}.json': categories.fp33: unknown category
module {}
