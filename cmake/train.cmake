# Builds the core with profile-guided optimisation (docs/adr/0022-trained-build.md): it is compiled
# once to count branch directions, replays synthetic traces (cmake/training), and is then compiled
# with these counts. Only GCC's counts are used; without any, it is compiled as usual.
set(counts "${CMAKE_BINARY_DIR}/counts")

add_library(counting OBJECT ${core_sources})
target_include_directories(counting PRIVATE core)
# The same options as the core, so that the counts fit.
set_target_properties(counting PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                      INTERPROCEDURAL_OPTIMIZATION OFF)
target_compile_options(counting PRIVATE "-fprofile-generate=${counts}")

add_executable(training cmake/training/train.cpp)
target_include_directories(training PRIVATE core cmake tests)
target_link_libraries(training PRIVATE counting tisim_tit)
target_link_options(training PRIVATE -fprofile-generate)

add_custom_command(
  OUTPUT "${counts}/adopted"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${counts}"
  COMMAND training
  COMMAND "${CMAKE_COMMAND}" "-DCOUNTS=${counts}" -P "${CMAKE_CURRENT_LIST_DIR}/adopt_counts.cmake"
  DEPENDS training "${CMAKE_CURRENT_LIST_DIR}/adopt_counts.cmake"
  COMMENT "Counting which way branches go"
  VERBATIM)
# New training sources recompile everything; a change of the core only the changed files.
file(GLOB training_sources CONFIGURE_DEPENDS cmake/training/*)
set_source_files_properties(${core_sources} PROPERTIES OBJECT_DEPENDS "${training_sources}")
add_custom_target(counted DEPENDS "${counts}/adopted")
add_dependencies(tisim_core counted)
# Code that the training did not reach is compiled as if there were no counts.
target_compile_options(tisim_core PRIVATE "-fprofile-use=${counts}" -fprofile-partial-training
                       -Wno-missing-profile)
