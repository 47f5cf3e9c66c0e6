// Reads arbitrary bytes as a vector of ranks: refused, or the same values in all ways of reading.
#include "trace/tit/vector/rank_vector.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim::tit;
  if (size < 2) return 0;
  const std::size_t count = data[0] < 250 ? data[0] : 9000;
  std::vector<std::int32_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i)
    ranks[i] = static_cast<std::int32_t>(i * (1 + data[1] % 3));
  const auto* begin = reinterpret_cast<const char*>(data);
  try {
    ByteReader in(begin + 2, begin + size);
    const RankVector vector = RankVector::read(in, count);
    const std::vector<std::int64_t> values = vector.all(ranks);
    for (std::size_t i = 0; i < count; ++i) require(vector.at(i, ranks[i]) == values[i]);
    const RankVector smallest = RankVector::of(values, ranks, data[1] % 2 == 0);
    require(smallest.all(ranks) == values);
    Bytes bytes;
    smallest.write(bytes);
    ByteReader again(bytes.data);
    require(RankVector::read(again, count).all(ranks) == values && again.at_end());
    // The next vector may consist of multiples of it.
    const RankVector other = RankVector::read(in, count, {vector});
    const std::vector<std::int64_t> others = other.all(ranks);
    for (std::size_t i = 0; i < count; ++i) require(other.at(i, ranks[i]) == others[i]);
  } catch (const FormatError&) {
    // Input that is not a vector is refused.
  }
  return 0;
}
