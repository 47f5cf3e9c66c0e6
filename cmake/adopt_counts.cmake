# The compiler looks up counts by object name: rename those of the library `counting` to those of
# `tisim_core`.
file(GLOB_RECURSE files RELATIVE "${COUNTS}" "${COUNTS}/*.gcda")
if(NOT files)
  message(WARNING "the training counted nothing; the core will be slower than it could be")
endif()
foreach(file IN LISTS files)
  string(REPLACE "counting.dir" "tisim_core.dir" adopted "${file}")
  get_filename_component(directory "${COUNTS}/${adopted}" DIRECTORY)
  file(MAKE_DIRECTORY "${directory}")
  file(RENAME "${COUNTS}/${file}" "${COUNTS}/${adopted}")
endforeach()
file(WRITE "${COUNTS}/adopted" "")
