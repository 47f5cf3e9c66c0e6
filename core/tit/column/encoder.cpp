#include "tit/column/encoder.hpp"

#include <algorithm>
#include <utility>

#include "tit/codec/numbers.hpp"
#include "tit/column/decoder.hpp"

namespace tisim {
namespace tit {

namespace {

// So many words a value gives away at most.
constexpr std::size_t kWordsOfValue = 4;

std::string without_leading_zeros(std::uint64_t state) {
  std::string bytes;
  for (; state > 0; state >>= 8) bytes += static_cast<char>(state);
  return bytes;
}

}  // namespace

ColumnEncoder::ColumnEncoder(std::vector<SiteModel> models)
    : models_(std::move(models)), tables_(models_.size()) {}

void ColumnEncoder::make_table(std::uint32_t model) {
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 16;
  CodingTable& table = tables_[model];
  const SiteModel& its = models_[model];
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < its.bins().size(); ++i) {
    const Bin& bin = its.bins()[i];
    table.bins.push_back({bin.low, bin.width, its.frequency(i), first});
    first += its.frequency(i);
  }
  const DecodingTable decoding = its.table();
  table.slots.resize(kAllFrequencies);
  const CodedBin* last = table.bins.data();
  for (std::uint32_t slot = 0; slot < kAllFrequencies; ++slot) {
    std::uint64_t number;
    const BinChoice choice = decoding.find(slot, number);
    const std::uint64_t low =
        choice.width() == BinChoice::kLarge ? decoding.large_bins[choice.low()].low : choice.low();
    // As a rule that of the slot before.
    if (last->low != low) last = &table.bins[its.bin_of(low)];
    table.slots[last->first_number + number] = static_cast<std::uint16_t>(slot);
  }
  const std::uint64_t lowest = table.bins.front().low;
  if (its.largest() - lowest < kMostValues) {
    table.bin_of.resize(static_cast<std::size_t>(its.largest() - lowest) + 1);
    std::uint16_t number = 0;
    for (const CodedBin& bin : table.bins) {
      std::fill_n(table.bin_of.begin() + static_cast<std::ptrdiff_t>(bin.low - lowest),
                  std::size_t{1} << bin.width, number++);
    }
    table.is_small = true;  // their widths are below 16
  }
}

// Makes room in a state for a bin of this frequency and `width` further bits. Without a branch:
// whether a word is given away is as random as the values.
void ColumnEncoder::make_room(std::uint64_t& state, std::uint32_t frequency, unsigned width) {
  // State and limit without their low 32 bits: the limit itself may be 2^64.
  const std::uint64_t limit = std::uint64_t{frequency} << (32 - kFrequencyBits - width);
  const std::uint64_t upper = state >> 32;
  const bool is_full = upper >= limit;
  words_[words_used_] = static_cast<std::uint32_t>(state);
  words_used_ += is_full ? 1 : 0;
  state = is_full ? upper : state;
}

void ColumnEncoder::encode(std::uint64_t& state, const Value& value) {
  const CodingTable& table = tables_[value.model];
  if (table.is_small) {
    const std::uint64_t above = value.value - table.bins.front().low;
    const CodedBin& bin = table.bins[table.bin_of[static_cast<std::size_t>(above)]];
    make_room(state, bin.frequency, bin.width);
    state = pushed(state, value.value - bin.low, bin.width, bin, table);
    return;
  }
  const std::size_t place =
      table.bin_of.empty()
          ? models_[value.model].bin_of(value.value)
          : table.bin_of[static_cast<std::size_t>(value.value - table.bins.front().low)];
  const CodedBin& bin = table.bins[place];
  const std::uint64_t offset = value.value - bin.low;
  // The decoder takes the low bits with the bin and then the others from the low ones up; this is
  // the way back.
  const unsigned low_bits = std::min<unsigned>(bin.width, kOffsetBits);
  const unsigned chunks = (bin.width - low_bits + kOffsetBits - 1) / kOffsetBits;
  for (unsigned i = chunks; i-- > 0;) {
    const unsigned done = low_bits + i * kOffsetBits;
    const unsigned bits = std::min<unsigned>(bin.width - done, kOffsetBits);
    make_room(state, kAllFrequencies, bits);
    state = (state << bits) | ((offset >> done) & ((std::uint64_t{1} << bits) - 1));
  }
  make_room(state, bin.frequency, low_bits);
  const std::uint64_t low = offset & ((std::uint64_t{1} << low_bits) - 1);
  state = pushed(state, low, low_bits, bin, table);
}

// The state with a bin and `width` bits of the offset in it.
std::uint64_t ColumnEncoder::pushed(std::uint64_t state, std::uint64_t bits, unsigned width,
                                    const CodedBin& bin, const CodingTable& table) {
  const std::uint64_t product = (state << width) | bits;
  const std::uint64_t quotient = product / bin.frequency;
  const auto number = static_cast<std::uint32_t>(product - quotient * bin.frequency);
  return (quotient << kFrequencyBits) + table.slots[bin.first_number + number];
}

// A decoder takes a word whenever a state is below kLeastState and a word is left. States that
// begin at 0 make short streams shorter, but a state may still be that low when another one gives
// its first word away: then this returns false.
bool ColumnEncoder::encode_all(std::uint64_t first_state, std::uint64_t states[]) {
  words_used_ = 0;
  std::fill_n(states, kStates, first_state);
  std::size_t left = values_.size();
  const auto encode_next = [&] {
    if (words_used_ + kWordsOfValue > words_.size())
      words_.resize(2 * words_.size() + values_.size() + kWordsOfValue);
    --left;
    encode(states[left % kStates], values_[left]);
  };
  while (left > 0 && words_used_ == 0) encode_next();
  if (words_used_ > 0) {
    for (std::size_t other = 0; other < kStates; ++other) {
      if (other != left % kStates && states[other] < kLeastState) return false;
    }
  }
  while (left > 0) encode_next();
  return true;
}

std::string ColumnEncoder::finish() {
  if (values_.empty()) return {};
  std::uint64_t states[kStates];
  if (!encode_all(0, states)) encode_all(kLeastState, states);
  std::string stream;
  stream.reserve(words_used_ * sizeof(std::uint32_t) + kStates * 8 + kStates / 2);
  for (std::size_t i = words_used_; i-- > 0;) put_fixed(stream, words_[i]);
  std::size_t sizes[kStates];
  for (unsigned i = 0; i < kStates; ++i) {
    const std::string bytes = without_leading_zeros(states[i]);
    sizes[i] = bytes.size();
    stream += bytes;
  }
  for (unsigned i = 0; i < kStates; i += 2) {
    stream += static_cast<char>(sizes[i] | (sizes[i + 1] << 4));
  }
  values_.clear();
  return stream;
}

}  // namespace tit
}  // namespace tisim
