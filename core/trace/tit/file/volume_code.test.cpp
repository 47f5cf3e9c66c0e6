// Volumes as codes, and back as they were written.
#include "trace/tit/file/volume_code.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/test.hpp"

namespace tisim::tit {

namespace {

std::string text_of(std::uint64_t code) {
  std::string text;
  append_volume(code, text);
  return text;
}

void check_exact(const std::string& text) {
  const std::uint64_t code = volume_code(text);
  CHECK(code != kNoVolumeCode && is_volume_code(code));
  CHECK(text_of(code) == text);
  CHECK(volume_value(code) == std::strtod(text.c_str(), nullptr));
}

}  // namespace

TEST("volume codes: usual volumes come back with their text and value") {
  for (const char* text : {"0", "7", "999999", "1000000", "123456789012345", "956140.000000", "0.5",
                           "1.50", "1.59373e+06", "1e+06", "1.5e+15", "9.99999e+15", "1.5e-07",
                           "1.000000e+06", "2.50e+10", "1.23456789e+12", "1e+16", "0e+00"}) {
    check_exact(text);
  }
}

TEST("volume codes: what has no code is told apart") {
  for (const char* text : {"",
                           "1e6",
                           "01",
                           "-1",
                           "+1",
                           ".5",
                           "5.",
                           "1.5E+06",
                           "1e+6",
                           "1e+006",
                           "nan",
                           "1.5.5",
                           "123456789012345678",
                           "1e+99",
                           "1e-99",
                           "1e",
                           "1e+",
                           "1 ",
                           "0x10",
                           "100000000000000000",
                           "0.000000000000000000001",
                           "1.12345678901234567e+08",
                           "0.1234567890123456e+08",
                           "1.1234567890123456e+24",
                           "1.1234567890123456e-01",
                           "1125899906842624",
                           "417022004.70256990123"}) {
    CHECK(volume_code(text) == kNoVolumeCode);
  }
}

TEST("volume codes: random texts, as printf prints them") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double volume =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 24));
    char text[64];
    const char* const formats[] = {"%g", "%.0f", "%f", "%.3e", "%.8g"};
    std::snprintf(text, sizeof text, formats[random() % 5], volume);
    if (volume_code(text) != kNoVolumeCode) check_exact(text);
  }
}

TEST("volume codes: larger volumes of the usual forms have larger codes") {
  CHECK(volume_code("999999") < volume_code("1e+06"));
  CHECK(volume_code("1.59373e+06") < volume_code("1.59374e+06"));
  CHECK(volume_code("9.99999e+06") < volume_code("1e+07"));
}

TEST("volume codes: any number is a code or is refused") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t code = random() >> (random() % 64);
    if (is_volume_code(code)) CHECK(volume_code(text_of(code)) == code);
  }
}

}  // namespace tisim::tit
