"""lit configuration: every .mlir, .test, .textproto and .onnxtext below test/."""

import glob
import os
import platform
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
# A program without sanitizers, as Python is, loads a library with them only beside
# their runtime.
if config.sanitizers:
    folder = os.path.join(config.llvm_tools, "..", "lib", "clang")
    [runtime] = glob.glob(f"{folder}/*/lib/*/libclang_rt.asan*{platform.machine()}*.so")
    config.environment["MPOPT_SANITIZER_RUNTIME"] = os.path.realpath(runtime)
# In CI a test that needs the large inputs must fail without them, not be skipped.
if os.path.isdir(config.mpopt_shared) or os.environ.get("CI"):
    config.available_features.add("shared")
