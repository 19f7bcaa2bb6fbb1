# The git hash for --version; regenerated at every build, rewritten only when it changes.
set(TITAN_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
add_custom_target(titan_version_header
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${TITAN_GENERATED_DIR}/titan_version.h
          -DVERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/WriteVersion.cmake
  BYPRODUCTS ${TITAN_GENERATED_DIR}/titan_version.h)
