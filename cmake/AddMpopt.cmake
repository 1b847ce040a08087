# Thin wrappers, so that every folder's CMakeLists.txt is a list of its files.

# Units with LLVM or MLIR headers: as the packages were built.
set(MPOPT_LLVM_FLAGS -fno-rtti -fno-exceptions)
# Units with ONNX headers: its checker and shape inference throw.
set(MPOPT_ONNX_FLAGS -fno-rtti -fexceptions)

add_compile_options(-Wall -Wextra -Wno-unused-parameter
                    -Wno-missing-field-initializers)

# Address and undefined-behaviour checks; any report ends the program. No RTTI,
# hence no vptr check; function types are not known of the shared libraries,
# which are not instrumented.
add_library(mpopt-sanitizer-options INTERFACE)
if(MPOPT_SANITIZERS)
  add_compile_options(-fsanitize=address,undefined
                      -fno-sanitize=vptr,function
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  target_sources(mpopt-sanitizer-options INTERFACE
    ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
endif()

# Edges counted in every library: what the fuzzer steers by.
if(MPOPT_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# mpopt_library(NAME sources... [DEPENDS tablegen-targets...] [LINK targets...])
function(mpopt_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE ${MPOPT_LLVM_FLAGS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MPOPTFramework)
  if(MPOPT_PRECOMPILE_HEADERS)
    mpopt_precompile_mlir(${name})
  endif()
endfunction()

# mpopt_precompile(NAME headers...): two thirds of a unit's compile time are the
# headers of MLIR, more those of LibTorch. ccache keeps units that use this for the
# same folder only (the file names its sources in full), and if it is told to:
# CCACHE_SLOPPINESS in scripts/build. Worktrees that are to share objects do without.
function(mpopt_precompile name)
  # Its hash must not depend on when it was made.
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_precompile_headers(${name} ${ARGN})
endfunction()

function(mpopt_precompile_mlir name)
  get_property(owner GLOBAL PROPERTY mpopt_precompiled)
  if(owner)
    mpopt_precompile(${name} REUSE_FROM ${owner})
    return()
  endif()
  set_property(GLOBAL PROPERTY mpopt_precompiled ${name})
  mpopt_precompile(${name} PRIVATE
    <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h>
    <mlir/IR/BuiltinOps.h> <mlir/IR/Matchers.h> <mlir/IR/OpImplementation.h>
    <mlir/Interfaces/ControlFlowInterfaces.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
    <llvm/ADT/StringMap.h> <llvm/ADT/TypeSwitch.h> <map> <set> <string>)
endfunction()

# mpopt_tool(NAME sources... [LINK targets...])
function(mpopt_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${MPOPT_LLVM_FLAGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MPOPTFramework
                        mpopt-sanitizer-options)
endfunction()

# mpopt_tablegen(TARGET file.td OUT generator-args [OUT generator-args]...)
# One record file, any number of outputs beside it in the build tree.
function(mpopt_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs out)
    list(POP_FRONT pairs generator)
    separate_arguments(generator)
    mlir_tablegen(${out} ${generator})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()

# mpopt_embed_tables(TARGET OUT files...): data files as one generated unit, so
# that they are part of the binary. A library lists OUT and depends on TARGET.
function(mpopt_embed_tables target out)
  set(files ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedTables.cmake)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DOUT=${out} -P ${script}
    DEPENDS ${files} ${script}
    VERBATIM)
  add_custom_target(${target} DEPENDS ${out})
endfunction()
