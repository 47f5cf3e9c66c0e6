#include "trace/grammar/words.hpp"

#include <cstdint>

#include "core/test.hpp"

namespace tisim {

namespace {

std::int64_t whole(std::string_view text) {
  std::int64_t value = -999;
  return read_whole(text, value) == NumberFault::none ? value : -999;
}

double real(std::string_view text) {
  double value = -999;
  return read_real(text, value) == NumberFault::none ? value : -999;
}

NumberFault fault(std::string_view text) {
  std::int64_t value = 0;
  return read_whole(text, value);
}

}  // namespace

TEST("number: whole numbers in every spelling") {
  CHECK(whole("0") == 0);
  CHECK(whole("-333") == -333);
  CHECK(whole("+5") == 5);
  CHECK(whole("007") == 7);
  CHECK(whole("1e6") == 1000000);
  CHECK(whole("1E+6") == 1000000);
  CHECK(whole("1.0") == 1);
  CHECK(whole("1.59373e+06") == 1593730);
  CHECK(whole("2.5e1") == 25);
  CHECK(whole(".5e1") == 5);
  CHECK(whole("9223372036854775807") == INT64_MAX);
  CHECK(whole("-9223372036854775808") == INT64_MIN);
  CHECK(whole("9e18") == 9000000000000000000);
}

TEST("number: what is not a whole number says why") {
  CHECK(fault("1.5") == NumberFault::not_whole);
  CHECK(fault("1e-3") == NumberFault::not_whole);
  CHECK(fault("9223372036854775808") == NumberFault::too_large);
  CHECK(fault("1e19") == NumberFault::too_large);
  CHECK(fault("1e999") == NumberFault::too_large);
  for (const char* text : {"", "+", "-", "+-1", "--1", "x", "1x", "0x10", "nan", "inf", "-inf",
                           "1e", "1 ", "e5", ".", "1.2.3", "1,5"}) {
    CHECK(fault(text) == NumberFault::not_a_number);
  }
}

TEST("number: real numbers are rounded correctly") {
  CHECK(real("1.59373e+06") == 1.59373e+06);
  CHECK(real("0.1") == 0.1);
  CHECK(real("123456789012345678901234567890") == 123456789012345678901234567890.0);
  CHECK(real("1e-999") == 0);
  CHECK(real("1e999") == -999);
  CHECK(real("nan") == -999);
}

}  // namespace tisim
