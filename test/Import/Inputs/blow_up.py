"""Prints a model of ten functions that each call the next ten times."""

print('<ir_version: 9, opset_import: ["" : 17, "l" : 1]>'
      "g (float[N] x) => (float[N] y) { y = l.F0 (x) }")
for i in range(10):
    print('<domain: "l", opset_import: ["" : 17, "l" : 1]>')
    print(f"F{i} (x0) => (x10) {{")
    for j in range(10):
        callee = "Relu" if i == 9 else f"l.F{i + 1}"
        print(f"  x{j + 1} = {callee} (x{j})")
    print("}")
