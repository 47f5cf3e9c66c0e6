# Lays out the core by what it does in a training run (docs/adr/0022-trained-build.md): it is
# compiled once to count which way branches go, replays made-up traces (cmake/training), and is then
# compiled with these counts. Only GCC's are used; where there are none, it is compiled as ever.
set(counts "${CMAKE_BINARY_DIR}/counts")

add_library(counting OBJECT ${core_sources})
target_include_directories(counting PRIVATE core)
# As the core itself, so that the counts fit.
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
# After another training all is compiled anew; after a change of the core only what has changed.
file(GLOB training_sources CONFIGURE_DEPENDS cmake/training/*)
set_source_files_properties(${core_sources} PROPERTIES OBJECT_DEPENDS "${training_sources}")
add_custom_target(counted DEPENDS "${counts}/adopted")
add_dependencies(tisim_core counted)
# What the training did not reach is compiled as if there were no counts.
target_compile_options(tisim_core PRIVATE "-fprofile-use=${counts}" -fprofile-partial-training
                       -Wno-missing-profile)
