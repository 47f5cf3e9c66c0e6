#include "tit/column/encoder.hpp"

#include <algorithm>
#include <utility>

#include "tit/codec/numbers.hpp"
#include "tit/column/decoder.hpp"

namespace tisim {
namespace tit {

namespace {

// Makes room in a state for a bin of this frequency and `width` further bits.
void make_room(std::uint64_t& state, std::uint32_t frequency, unsigned width,
               std::vector<std::uint32_t>& words) {
  // State and limit without their low 32 bits: the limit itself may be 2^64.
  const std::uint64_t limit = std::uint64_t{frequency} << (32 - kFrequencyBits - width);
  if (state >> 32 < limit) return;
  words.push_back(static_cast<std::uint32_t>(state));
  state >>= 32;
}

std::string without_leading_zeros(std::uint64_t state) {
  std::string bytes;
  for (; state > 0; state >>= 8) bytes += static_cast<char>(state);
  return bytes;
}

}  // namespace

ColumnEncoder::ColumnEncoder(std::vector<SiteModel> models)
    : models_(std::move(models)), slots_(models_.size()) {}

const ColumnEncoder::Slots& ColumnEncoder::slots_of(std::uint32_t model) {
  Slots& slots = slots_[model];
  if (!slots.first_piece.empty()) return slots;
  const SiteModel& its = models_[model];
  const std::size_t bins = its.bins().size();
  std::vector<std::vector<Piece>> pieces(bins);
  // A bin's numbers run on from slot to slot until the bucket or the bin ends.
  const DecodingTable table = its.table();
  const std::uint32_t size = std::uint32_t{1} << table.shift;
  for (std::uint32_t slot = 0; slot < kAllFrequencies;) {
    const Bucket& bucket = its.buckets()[slot >> table.shift];
    const std::uint32_t place = slot & (size - 1);
    const std::uint32_t end = place < bucket.own_slots() ? bucket.own_slots() : size;
    std::uint32_t number;
    const BinChoice& bin = table.find(slot, number);
    const std::uint64_t low =
        bin.width() == BinChoice::kLarge ? table.large_bins[bin.low()].low : bin.low();
    const Piece piece{static_cast<std::uint16_t>(number), static_cast<std::uint16_t>(slot)};
    std::vector<Piece>& of_bin = pieces[its.bin_of(low)];
    // A bin's own slots come first, though they may stand behind others.
    of_bin.insert(number == 0 ? of_bin.begin() : of_bin.end(), piece);
    slot += end - place;
  }
  for (const std::vector<Piece>& of_bin : pieces) {
    slots.first_piece.push_back(static_cast<std::uint32_t>(slots.pieces.size()));
    slots.pieces.insert(slots.pieces.end(), of_bin.begin(), of_bin.end());
  }
  slots.first_piece.push_back(static_cast<std::uint32_t>(slots.pieces.size()));
  return slots;
}

void ColumnEncoder::encode(std::uint64_t& state, const Value& value,
                           std::vector<std::uint32_t>& words) {
  const SiteModel& model = models_[value.model];
  const Slots& slots = slots_of(value.model);
  const std::size_t place = model.bin_of(value.value);
  const Bin& bin = model.bins()[place];
  const std::uint64_t offset = value.value - bin.low;
  // The decoder takes the low bits with the bin and then the others from the low ones up; this is
  // the way back.
  const unsigned low_bits = std::min<unsigned>(bin.width, kOffsetBits);
  const unsigned chunks = (bin.width - low_bits + kOffsetBits - 1) / kOffsetBits;
  for (unsigned i = chunks; i-- > 0;) {
    const unsigned done = low_bits + i * kOffsetBits;
    const unsigned bits = std::min<unsigned>(bin.width - done, kOffsetBits);
    make_room(state, kAllFrequencies, bits, words);
    state = (state << bits) | ((offset >> done) & ((std::uint64_t{1} << bits) - 1));
  }
  const std::uint32_t frequency = model.frequency(place);
  make_room(state, frequency, low_bits, words);
  const std::uint64_t product =
      (state << low_bits) | (offset & ((std::uint64_t{1} << low_bits) - 1));
  const std::uint64_t quotient = product / frequency;
  const auto number = static_cast<std::uint32_t>(product - quotient * frequency);
  const auto begin = slots.pieces.begin();
  const auto above = std::upper_bound(
      begin + slots.first_piece[place], begin + slots.first_piece[place + 1], number,
      [](std::uint32_t bound, const Piece& piece) { return bound < piece.first; });
  const Piece& piece = *(above - 1);
  state = (quotient << kFrequencyBits) + piece.slot + (number - piece.first);
}

// A decoder takes a word whenever a state is below kLeastState and a word is left. States that
// begin at 0 make short streams shorter, but a state may still be that low when the other one gives
// its first word away: then this returns false.
bool ColumnEncoder::encode_all(std::uint64_t first_state, std::uint64_t states[2],
                               std::vector<std::uint32_t>& words) {
  words.clear();
  states[0] = states[1] = first_state;
  for (std::size_t i = values_.size(); i-- > 0;) {
    const bool had_words = !words.empty();
    encode(states[i & 1], values_[i], words);
    if (!had_words && !words.empty() && states[(i & 1) ^ 1] < kLeastState) return false;
  }
  return true;
}

std::string ColumnEncoder::finish() {
  if (values_.empty()) return {};
  std::uint64_t states[2];
  std::vector<std::uint32_t> words;
  if (!encode_all(0, states, words)) encode_all(kLeastState, states, words);
  std::string stream;
  stream.reserve(words.size() * sizeof(std::uint32_t) + 17);
  for (std::size_t i = words.size(); i-- > 0;) put_fixed(stream, words[i]);
  const std::string first = without_leading_zeros(states[0]);
  const std::string second = without_leading_zeros(states[1]);
  stream += first;
  stream += second;
  stream += static_cast<char>(first.size() | (second.size() << 4));
  values_.clear();
  return stream;
}

}  // namespace tit
}  // namespace tisim
