# What the Python package holds beside its Python files: `cmake --install BUILD
# --component python` puts it into the folder `mpopt` of the wheel.

# Everything that the component needs, so that a wheel does not build the tests.
add_custom_target(mpopt-wheel)

function(mpopt_install_python target folder)
  add_dependencies(mpopt-wheel ${target})
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
