// A test runner in one header: TEST cases register themselves, CHECK reports and continues.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace tisim::test {

struct Case {
  const char* name;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Registration {
  Registration(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

inline void check(bool holds, const char* what, const char* file, int line) {
  if (!holds) {
    ++failures();
    std::fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
  }
}

// Equal up to the last bits that depend on the order of operations.
inline bool close(double a, double b, double relative = 1e-14) {
  return a == b || std::fabs(a - b) <= relative * std::fmax(std::fabs(a), std::fabs(b));
}

// Returns the number of random cases of a test, or the length of a program: `here` in CI, `nightly`
// if TISIM_NIGHTLY is set (`make nightly`).
inline std::uint32_t campaign(std::uint32_t here, std::uint32_t nightly) {
  return std::getenv("TISIM_NIGHTLY") != nullptr ? nightly : here;
}

// Runs the cases whose name contains `filter`, of these every `parts`-th starting with `part`;
// returns the exit status.
inline int run(std::string_view filter, std::size_t part, std::size_t parts) {
  int ran = 0;
  int failed = 0;
  std::size_t number = 0;
  for (const Case& one : cases()) {
    if (std::string_view(one.name).find(filter) == std::string_view::npos) continue;
    if (number++ % parts != part) continue;
    const int before = failures();
    try {
      one.body();
    } catch (const std::exception& error) {
      ++failures();
      std::fprintf(stderr, "%s: unexpected exception: %s\n", one.name, error.what());
    }
    ++ran;
    if (failures() != before) {
      ++failed;
      std::fprintf(stderr, "FAILED %s\n", one.name);
    }
  }
  std::printf("%d cases, %d failed\n", ran, failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}

}  // namespace tisim::test

// TEST("what is tested") { ... }
#define TEST(name) TISIM_NUMBERED_TEST(name, __COUNTER__)
#define TISIM_NUMBERED_TEST(name, number) TISIM_TEST(name, number)
#define TISIM_TEST(name, number)                                                           \
  static void test_case_##number();                                                        \
  static const ::tisim::test::Registration registered_##number(name, &test_case_##number); \
  static void test_case_##number()

#define CHECK(condition) \
  ::tisim::test::check(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

// CHECK_THROWS(expression, Type, "part of the message")
#define CHECK_THROWS(expression, Type, part)                                                       \
  do {                                                                                             \
    std::string caught = "nothing";                                                                \
    try {                                                                                          \
      static_cast<void>(expression);                                                               \
    } catch (const Type& error) {                                                                  \
      caught = error.what();                                                                       \
    }                                                                                              \
    const bool as_said = caught.find(part) != std::string::npos;                                   \
    if (!as_said) std::fprintf(stderr, "caught: %s\n", caught.c_str());                            \
    ::tisim::test::check(as_said, #expression " throws " #Type " with " part, __FILE__, __LINE__); \
  } while (false)
