// The executable of all tests: `core_tests [part of a name]`, or `core_tests "" 0 4` for a quarter.
#include "core/test.hpp"

int main(int argc, char** argv) {
  const bool split = argc > 3;
  return tisim::test::run(argc > 1 ? argv[1] : "", split ? std::stoul(argv[2]) : 0,
                          split ? std::stoul(argv[3]) : 1);
}

TEST("test: close numbers are told from different ones") {
  CHECK(tisim::test::close(0.1 + 0.2, 0.3));
  CHECK(!tisim::test::close(1.0, 1.0 + 1e-12));
}
