#include "trace/vocabulary/files.hpp"

#include "core/test.hpp"

namespace tisim {

TEST("file names: the rank stands where the pattern says") {
  CHECK(file_name("out", 3) == "out");
  CHECK(file_name("out.%05d", 42) == "out.00042");
  CHECK(file_name("out.%05d", 1234567) == "out.1234567");
  CHECK(file_name("%d/of%%.%03d", 7) == "7/of%.007");
}

TEST("file names: a percent sign that stands for nothing is refused") {
  for (const char* name : {"", "%", "a%", "a%s", "%5d", "%00d", "%0d", "%099d", "%0"}) {
    CHECK(!is_file_name(name));
  }
  for (const char* name : {"a", "/", "%d", "%019d", "%%", "a%%d"}) CHECK(is_file_name(name));
}

TEST("file names: flags have letters of their own, and read or write") {
  for (const char* flags : {"r", "w", "rwct", "a", "wcx"}) CHECK(are_open_flags(flags));
  for (const char* flags : {"", "c", "rb", "r+"}) CHECK(!are_open_flags(flags));
}

}  // namespace tisim
