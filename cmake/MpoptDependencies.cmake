# Everything mpopt links, found once. See docs/building.md for the reasons.

# Statically, as MLIR: the tool is one file that runs where none of it is installed.
set(ZLIB_USE_STATIC_LIBS ON)
set(Protobuf_USE_STATIC_LIBS ON)

find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
include(StaticMlir)

# Tables are made by the system's Python, whichever environment is active: the wheel is
# built out of a build folder from within one, and would otherwise make them again.
find_program(MPOPT_PYTHON python3 HINTS /usr/bin /usr/local/bin REQUIRED)

# Debian's protobuf has no CMake config, so ONNX's own one cannot be used:
# module mode here, then its target file.
find_package(Protobuf REQUIRED)
set(MPOPT_ONNX_ROOT "$ENV{MPOPT_ONNX}" CACHE PATH "Prefix of the ONNX C++ library")
if(NOT EXISTS ${MPOPT_ONNX_ROOT}/lib/cmake/ONNX/ONNXTargets.cmake)
  message(FATAL_ERROR "no ONNX library at '${MPOPT_ONNX_ROOT}': run scripts/setup")
endif()
include(${MPOPT_ONNX_ROOT}/lib/cmake/ONNX/ONNXTargets.cmake)
