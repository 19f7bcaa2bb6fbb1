# Included by ctest (TitanSuites.cmake) with `program`, `list` and `label`: adds a test for each suite that the program names. The answer is kept in
# `list` for as long as the program is not newer.
get_filename_component(name ${program} NAME)
if(NOT EXISTS ${program})
  add_test(${name}_NOT_BUILT ${program})  # fails, and says so
  return()
endif()
if(NOT EXISTS ${list} OR ${program} IS_NEWER_THAN ${list})
  execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE lines RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${program} --gtest_list_tests ended with ${code}")
  endif()
  # "Suite." and "Suite.  # TypeParam = ..." begin a line; cases are indented.
  string(REGEX MATCHALL "\n[A-Za-z_][A-Za-z0-9_/]*\\.[^\n]*" suites "\n${lines}")
  set(text "")
  foreach(suite ${suites})
    string(REGEX REPLACE "^\n([^.]*)\\..*" "\\1" suite "${suite}")
    string(APPEND text "add_test([==[${suite}]==] [==[${program}]==] [==[--gtest_filter=${suite}.*]==])\n"
      "set_tests_properties([==[${suite}]==] PROPERTIES LABELS \"\${label}\" TIMEOUT 900)\n")
  endforeach()
  file(WRITE ${list} "${text}")
endif()
include(${list})
