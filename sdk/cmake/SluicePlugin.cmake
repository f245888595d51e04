# sluice_add_plugin(NAME SOURCES... [LIBS libraries...])
#
# Builds lib<NAME>.so as a Sluice plugin: hidden visibility, exactly one exported symbol, undefined symbols
# refused at link time, symbols of static libraries kept inside.

function(sluice_add_plugin name)
  set(plugin_map "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map") # the caller's scope need not be that of the include
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE Sluice::Sdk ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS "${plugin_map}")
  target_link_options(${name} PRIVATE
    "-Wl,--version-script=${plugin_map}" "-Wl,--exclude-libs,ALL")
  if(NOT SLUICE_SANITIZE) # the sanitizers' run-time symbols come from the program
    target_link_options(${name} PRIVATE "-Wl,-z,defs")
  endif()
endfunction()
