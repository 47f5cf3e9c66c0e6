// The volumes of computations as a packed trace keeps them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tisim::packed {

// A volume as it is written: 14571, 956140.000000, 1.59373e+06, or some other text.
struct Volume {
  enum Form : std::uint8_t { whole, decimal, scientific, text };
  Form form = text;
  std::uint8_t places = 0;  // decimal: decimals; scientific: the exponent
  std::uint64_t digits = 0;
};

Volume volume_of(std::string_view text);
void append_volume(const Volume& volume, std::string& out);
// Whether it is one that volume_of gives, other than a text.
bool has_value(const Volume& volume);
// The number that its text stands for; it must have one.
double value_of(const Volume& volume);

// The volume of a token other than kText, and what follows it, off the front of `bytes`; false
// when they are none.
bool take_volume(unsigned token, std::string_view& bytes, Volume& volume);
// The token and what follows it; a text follows that of kText.
void put_volume(const Volume& volume, std::string& out);

}  // namespace tisim::packed
