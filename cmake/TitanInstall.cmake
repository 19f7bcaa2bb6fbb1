# `cmake --install` puts a program and its completions where shells look for them.
include(GNUInstallDirs)

# The scripts are made by the program itself when it has been linked, from the table that its parser uses.
function(titan_install_program program)
  set(folder ${CMAKE_BINARY_DIR}/completions)
  file(MAKE_DIRECTORY ${folder})
  foreach(shell bash zsh fish)
    list(APPEND commands COMMAND $<TARGET_FILE:${program}> completion ${shell} > ${folder}/${program}.${shell})
    list(APPEND scripts ${folder}/${program}.${shell})
  endforeach()
  add_custom_command(OUTPUT ${scripts} ${commands} DEPENDS ${program} COMMENT "Completions of ${program}" VERBATIM)
  add_custom_target(${program}-completions ALL DEPENDS ${scripts})

  # LibTorch stays where it is: the installed program finds it as the built one does.
  set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH TRUE)
  install(TARGETS ${program} RUNTIME)
  install(FILES ${folder}/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
  install(FILES ${folder}/${program}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _${program})
  install(FILES ${folder}/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
