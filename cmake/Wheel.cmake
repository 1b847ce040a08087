# What the Python package holds beside its Python files: `cmake --install BUILD
# --component python` puts it into the folder `mpopt` of the wheel.

# Everything that the component needs, so that a wheel does not build the tests.
add_custom_target(mpopt-wheel)

function(mpopt_install_python target folder)
  add_dependencies(mpopt-wheel ${target})
  set_property(GLOBAL APPEND PROPERTY MPOPT_WHEEL_TARGETS ${target})
  install(TARGETS ${target}
    RUNTIME DESTINATION mpopt/${folder} COMPONENT python
    LIBRARY DESTINATION mpopt/${folder} COMPONENT python)
endfunction()

mpopt_install_python(mpopt bin)
mpopt_install_python(mpopt_record lib)
mpopt_install_python(mpopt_ort lib)
# The template of HTML reports, for records and comparisons.
install(FILES ${PROJECT_BINARY_DIR}/share/page.html DESTINATION mpopt/share COMPONENT python)
if(MPOPT_HAS_TORCH)
  # Beside the user's own torch, wherever that is.
  set_target_properties(mpopt-import-torchscript PROPERTIES
    INSTALL_RPATH "$ORIGIN/../../torch/lib")
  mpopt_install_python(mpopt-import-torchscript bin)
  mpopt_install_python(mpopt_torch lib)
  install(FILES ${PROJECT_BINARY_DIR}/lib/libmpopt_torch.version
    DESTINATION mpopt/lib COMPONENT python)
endif()

# For every Linux from glibc 2.28 on (scripts/wheel --manylinux): the same objects, linked
# against the symbols of older system libraries.
option(MPOPT_PORTABLE "Link what the wheel holds for glibc 2.28" OFF)
if(MPOPT_PORTABLE)
  set(stubs ${PROJECT_BINARY_DIR}/glibc)
  execute_process(COMMAND ${MPOPT_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/glibc/stubs.py ${stubs}
    COMMAND_ERROR_IS_FATAL ANY)
  add_library(mpopt_glibc STATIC ${PROJECT_SOURCE_DIR}/cmake/glibc/shims.c)
  set_target_properties(mpopt_glibc PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(mpopt_glibc PRIVATE -fno-builtin)
  get_property(targets GLOBAL PROPERTY MPOPT_WHEEL_TARGETS)
  foreach(target ${targets})
    target_link_libraries(${target} PRIVATE mpopt_glibc)
    # LibTorch asks for what the stubs do not have.
    target_link_options(${target} PRIVATE -L${stubs} -Wl,--allow-shlib-undefined)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
    endif()
  endforeach()
endif()
