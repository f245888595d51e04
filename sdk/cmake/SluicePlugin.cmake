# sluice_add_plugin(NAME SOURCES... [LIBS libraries...])
#
# Builds lib<NAME>.so as a Sluice plugin: hidden visibility, exactly one exported symbol, undefined symbols
# refused at link time, symbols of static libraries kept inside.
set(SLUICE_PLUGIN_MAP "${CMAKE_CURRENT_LIST_DIR}/plugin.map")

function(sluice_add_plugin name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE Sluice::Sdk ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS "${SLUICE_PLUGIN_MAP}")
  target_link_options(${name} PRIVATE
    "-Wl,--version-script=${SLUICE_PLUGIN_MAP}" "-Wl,--exclude-libs,ALL")
  if(NOT SLUICE_SANITIZE) # the sanitizers' run-time symbols come from the program
    target_link_options(${name} PRIVATE "-Wl,-z,defs")
  endif()
endfunction()
