# LibTorch out of an installed torch Python package, for the TorchScript reader.
# Optional: without it mpopt says so when it is given an archive.
#
# The package's own CMake files look for CUDA and change global flags, so its
# headers and the two libraries that the JIT needs are named here.

set(MPOPT_TORCH "" CACHE PATH "Folder of the torch Python package (found by itself)")
if(NOT MPOPT_TORCH)
  set(python ${MPOPT_PYTHON})
  if(EXISTS "$ENV{MPOPT_VENV}/bin/python")
    set(python $ENV{MPOPT_VENV}/bin/python)
  endif()
  execute_process(
    COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(MPOPT_TORCH "${folder}" CACHE PATH "" FORCE)
endif()

if(EXISTS ${MPOPT_TORCH}/lib/libtorch_cpu.so)
  set(MPOPT_HAS_TORCH ON)
  # LibTorch's C++ interface changes from version to version: who gets another
  # one than this is told so.
  file(STRINGS ${MPOPT_TORCH}/version.py line REGEX "^__version__ = ")
  string(REGEX REPLACE ".*'([^']*)'.*" "\\1" MPOPT_TORCH_VERSION "${line}")
  message(STATUS "LibTorch: ${MPOPT_TORCH} (${MPOPT_TORCH_VERSION})")
  add_library(MPOPTLibTorch INTERFACE)
  target_include_directories(MPOPTLibTorch SYSTEM INTERFACE
    ${MPOPT_TORCH}/include ${MPOPT_TORCH}/include/torch/csrc/api/include)
  target_link_libraries(MPOPTLibTorch INTERFACE
    ${MPOPT_TORCH}/lib/libtorch_cpu.so ${MPOPT_TORCH}/lib/libc10.so)
  # CMake's own run path leads to the package in the build folder, and is gone
  # from what is installed: a flag would stay there.
  target_link_options(MPOPTLibTorch INTERFACE -Wl,--exclude-libs,ALL)
else()
  set(MPOPT_HAS_TORCH OFF)
  message(STATUS "LibTorch: not found; TorchScript archives will be refused")
endif()
