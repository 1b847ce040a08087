"""lit configuration: every .mlir, .test, .textproto and .onnxtext below test/."""

import os
import sys

import lit.formats

config.name = "mpopt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".textproto", ".onnxtext"]
config.excludes = ["Inputs", "unit", "python", "fuzz", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mpopt_build, "test")

path = [os.path.join(config.mpopt_build, "bin"), config.llvm_tools]
config.environment["PATH"] = os.pathsep.join(path + [os.environ["PATH"]])
config.substitutions.append(("%shared", config.mpopt_shared))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(
    ("%record-library", os.path.join(config.mpopt_build, "lib", "libmpopt_record.so")))
# In CI a test that needs the large inputs must fail without them, not be skipped.
if os.path.isdir(config.mpopt_shared) or os.environ.get("CI"):
    config.available_features.add("shared")
