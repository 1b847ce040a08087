# MPOPTFramework: MLIR and LLVM as everything here links them.
#
# Statically, since loading the package's shared libraries takes 25 ms, most of
# it for 360,000 relocations of code that no tool of ours runs. The package's
# targets for static MLIR name the shared LLVM, which would be a second copy of
# LLVM beside the static one, so the archives are collected here by file.

add_library(MPOPTFramework INTERFACE)

# The archives that `ARGN` need, themselves included, less LLVM's.
function(mpopt_collect_archives out)
  set(pending ${ARGN})
  set(seen)
  set(archives)
  while(pending)
    list(POP_FRONT pending target)
    if(target IN_LIST seen OR NOT target MATCHES "^MLIR")
      continue()
    endif()
    list(APPEND seen ${target})
    list(APPEND archives $<TARGET_FILE:${target}>)
    get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
    if(needs)
      list(APPEND pending ${needs})
    endif()
  endwhile()
  set(${out} ${archives} PARENT_SCOPE)
endfunction()

mpopt_collect_archives(archives
  MLIRBytecodeReader MLIRBytecodeWriter MLIRFuncDialect MLIRLspServerLib
  MLIROptLib MLIRParser MLIRPass MLIRTransforms)
# A group for linkers that read archives in order.
target_link_libraries(MPOPTFramework INTERFACE
  -Wl,--start-group ${archives} $<TARGET_FILE:LLVMSupport>
  $<TARGET_FILE:LLVMSupportLSP> $<TARGET_FILE:LLVMDemangle>
  $<TARGET_FILE:LLVMRemarks> $<TARGET_FILE:LLVMOption>
  $<TARGET_FILE:LLVMBitstreamReader> -Wl,--end-group -Wl,--gc-sections
  Threads::Threads)
