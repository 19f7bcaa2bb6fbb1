# `cmake --install` puts a program, its completions and its man pages where shells and man look for them.
# A program's files are a component of its name.
include(GNUInstallDirs)
find_program(TITAN_PYTHON python3 REQUIRED)

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

  # Likewise the man pages, from --help.
  set(man ${CMAKE_BINARY_DIR}/man/${program})
  add_custom_command(OUTPUT ${man}.stamp
    COMMAND ${TITAN_PYTHON} ${CMAKE_SOURCE_DIR}/packaging/man_pages.py $<TARGET_FILE:${program}> ${man}
    COMMAND ${CMAKE_COMMAND} -E touch ${man}.stamp
    DEPENDS ${program} ${CMAKE_SOURCE_DIR}/packaging/man_pages.py COMMENT "Man pages of ${program}" VERBATIM)
  add_custom_target(${program}-man ALL DEPENDS ${man}.stamp)

  # Libraries in the folder of the program come first.
  # None for a static program: glibc 2.36 crashes at the start of one that has a run path.
  get_target_property(options ${program} LINK_OPTIONS)
  if(NOT "-static-pie" IN_LIST options)
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib")
  endif()
  # As `cmake --install --strip` does.
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)" COMPONENT ${program})
  install(TARGETS ${program} RUNTIME COMPONENT ${program})
  install(FILES ${folder}/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program} COMPONENT ${program})
  install(FILES ${folder}/${program}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _${program} COMPONENT ${program})
  install(FILES ${folder}/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ${program})
  install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${program})
endfunction()

# A program that another one executes, of the other's component. LibTorch stays where it is: the installed program finds it as the built one does.
function(titan_install_part program component) # ARGN: folders of its libraries
  set(run_paths "$ORIGIN" "$ORIGIN/../lib" ${ARGN})
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "${run_paths}")
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR} COMPONENT ${component})
endfunction()
