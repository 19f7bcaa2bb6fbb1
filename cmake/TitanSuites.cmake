# titan_discover_suites(program LABEL): one ctest for each suite of a test program, where starting the program costs more than most of its cases
# (LibTorch's libraries take a third of a second). ctest asks the program for its suites, so that none can be forgotten.
function(titan_discover_suites program label)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${program}-suites.cmake)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${program}-discover.cmake CONTENT
"set(program [==[$<TARGET_FILE:${program}>]==])
set(list [==[${list}]==])
set(label [==[${label}]==])
include([==[${CMAKE_SOURCE_DIR}/cmake/AddSuites.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${program}-discover.cmake)
endfunction()
