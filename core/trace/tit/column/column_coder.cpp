#include "trace/tit/column/column_coder.hpp"

#include <algorithm>
#include <utility>

#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

namespace {

// Maximum number of words that a value emits.
constexpr std::size_t kWordsOfValue = 4;

std::string without_leading_zeros(std::uint64_t state) {
  std::string bytes;
  for (; state > 0; state >>= 8) bytes += static_cast<char>(state);
  return bytes;
}

// Makes room in a state for a bin of this frequency and `width` further bits. Branch-free: whether
// a word is emitted is as random as the values.
[[gnu::always_inline]] inline void make_room(std::uint64_t& state, std::uint32_t*& words,
                                             std::uint32_t frequency, unsigned width) {
  // State and limit without their low 32 bits: the limit itself may be 2^64.
  const std::uint64_t limit = std::uint64_t{frequency} << (32 - kFrequencyBits - width);
  const std::uint64_t upper = state >> 32;
  const bool is_full = upper >= limit;
  words[-1] = static_cast<std::uint32_t>(state);
  words -= is_full ? 1 : 0;
  state = is_full ? upper : state;
}

}  // namespace

ColumnEncoder::ColumnEncoder(std::vector<SiteModel> models,
                             const std::vector<std::uint32_t>& model_of)
    : models_(std::move(models)) {
  for (const SiteModel& model : models_) tables_.push_back(table_of(model));
  for (const std::uint32_t model : model_of) {
    table_of_.push_back(model == kNoModel ? nullptr : &tables_[model]);
  }
}

ColumnEncoder::ColumnEncoder(std::vector<SiteModel> models) : ColumnEncoder(std::move(models), {}) {
  for (const CodingTable& table : tables_) table_of_.push_back(&table);
}

ColumnEncoder::CodingTable ColumnEncoder::table_of(const SiteModel& its) {
  constexpr std::uint64_t kMaxValues = std::uint64_t{1} << 16;
  CodingTable table;
  table.model = &its;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < its.bins().size(); ++i) {
    const Bin& bin = its.bins()[i];
    const std::uint16_t frequency = its.frequency(i);
    table.bins.push_back({bin.low, first, bin.width, frequency});
    first += frequency;
  }
  const DecodingTable decoding = its.table();
  table.slots.resize(kAllFrequencies);
  const CodedBin* last = table.bins.data();
  for (std::uint32_t slot = 0; slot < kAllFrequencies; ++slot) {
    const BinChoice& choice = decoding.find(slot);
    const std::uint64_t low =
        choice.width() == BinChoice::kLarge ? decoding.large_bins[choice.low()].low : choice.low();
    // Usually the same as for the previous slot.
    if (last->low != low) last = &table.bins[its.bin_of(low)];
    table.slots[static_cast<std::size_t>(std::int64_t{last->first_number} + slot + choice.shift)] =
        static_cast<std::uint16_t>(slot);
  }
  table.lowest = table.bins.front().low;
  if (its.largest() - table.lowest < kMaxValues) {
    // The widths of such bins are at most 16.
    table.bin_of.resize(static_cast<std::size_t>(its.largest() - table.lowest) + 1);
    std::uint16_t number = 0;
    for (const CodedBin& bin : table.bins) {
      std::fill_n(table.bin_of.begin() + static_cast<std::ptrdiff_t>(bin.low - table.lowest),
                  std::size_t{1} << bin.width, number++);
    }
  }
  return table;
}

// The state with a value added. `words`: the last emitted word.
[[gnu::always_inline]] inline std::uint64_t ColumnEncoder::encoded(std::uint64_t state,
                                                                   const CodingTable& table,
                                                                   std::uint64_t value,
                                                                   std::uint32_t*& words) {
  const std::size_t number = table.bin_of.empty()
                                 ? table.model->bin_of(value)
                                 : table.bin_of[static_cast<std::size_t>(value - table.lowest)];
  const CodedBin& bin = table.bins[number];
  const std::uint64_t offset = value - bin.low;
  // The decoder takes the low bits with the bin and then the others from the low ones up; the
  // encoder does this in reverse.
  const unsigned low_bits = std::min<unsigned>(bin.width, kOffsetBits);
  const unsigned chunks = (bin.width - low_bits + kOffsetBits - 1) / kOffsetBits;
  for (unsigned i = chunks; i-- > 0;) {
    const unsigned done = low_bits + i * kOffsetBits;
    const unsigned bits = std::min<unsigned>(bin.width - done, kOffsetBits);
    make_room(state, words, kAllFrequencies, bits);
    state = (state << bits) | ((offset >> done) & ((std::uint64_t{1} << bits) - 1));
  }
  make_room(state, words, bin.frequency, low_bits);
  const std::uint64_t low = offset & ((std::uint64_t{1} << low_bits) - 1);
  const std::uint64_t product = (state << low_bits) | low;
  return (product / bin.frequency << kFrequencyBits) +
         table.slots[bin.first_number + product % bin.frequency];
}

// A decoder takes a word whenever a state is below kMinState and a word is left. Initial states
// of 0 shorten short streams, but a state may still be that low when another one emits its first
// word: then this returns nullptr, otherwise the last word.
std::uint32_t* ColumnEncoder::encode_all(Rest rest, std::uint64_t first_state,
                                         std::uint64_t states[]) const {
  static_assert(kStates == 4, "the states stand in variables of their own");
  std::uint32_t* const end = words_.get() + words_size_;
  std::uint32_t* words = end;
  // The states take turns: the next one comes first.
  std::uint64_t next = first_state, second = first_state, third = first_state, last = first_state;
  const CodingTable* const* const table_of = table_of_.data();
  const auto encode_next = [&]() __attribute__((always_inline)) {
    const CodingTable* const table = table_of[rest.sites[--rest.size]];
    if (table == nullptr) return;
    const std::uint64_t state = encoded(next, *table, rest.values[rest.size], words);
    next = second;
    second = third;
    third = last;
    last = state;
  };
  while (rest.size > 0 && words == end) encode_next();
  if (words != end && std::min({next, second, third}) < kMinState) return nullptr;
  while (rest.size > 0) encode_next();
  // The value before the first one would use the last state.
  states[3] = next;
  states[2] = second;
  states[1] = third;
  states[0] = last;
  return words;
}

std::string ColumnEncoder::encode(const std::uint64_t* values, const std::uint32_t* sites,
                                  std::size_t size, std::size_t coded) {
  // One extra word: make_room writes to the position of the next one.
  const std::size_t needed = coded * kWordsOfValue + 1;
  if (needed > words_size_) {
    words_size_ = needed;
    words_.reset(new std::uint32_t[needed]);
  }
  std::uint64_t states[kStates];
  const Rest rest{values, sites, size};
  const std::uint32_t* words = encode_all(rest, 0, states);
  if (words == nullptr) words = encode_all(rest, kMinState, states);
  const std::uint32_t* const end = words_.get() + words_size_;
  std::string stream;
  stream.reserve(static_cast<std::size_t>(end - words) * sizeof *words + kStates * 8 + kStates / 2);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (; words != end; ++words) put_fixed(stream, *words);
#else
  stream.append(reinterpret_cast<const char*>(words),
                static_cast<std::size_t>(end - words) * sizeof *words);
#endif
  std::size_t sizes[kStates];
  for (unsigned i = 0; i < kStates; ++i) {
    const std::string bytes = without_leading_zeros(states[i]);
    sizes[i] = bytes.size();
    stream += bytes;
  }
  for (unsigned i = 0; i < kStates; i += 2) {
    stream += static_cast<char>(sizes[i] | (sizes[i + 1] << 4));
  }
  return stream;
}

std::string ColumnEncoder::finish() {
  if (values_.empty()) return {};
  std::string stream = encode(values_.data(), sites_.data(), values_.size(), values_.size());
  values_.clear();
  sites_.clear();
  return stream;
}

namespace {

std::uint64_t state_in(const char* bytes, unsigned size) {
  std::uint64_t state = 0;
  for (unsigned i = 0; i < size; ++i) {
    state |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return state;
}

}  // namespace

// The words, then the states without leading zeros, then the number of bytes of each.
void ColumnDecoder::start(const char* begin, const char* end) {
  *this = ColumnDecoder();
  if (begin == end) return;
  constexpr std::size_t kSizes = kStates / 2;
  const auto size = static_cast<std::size_t>(end - begin);
  unsigned sizes[kStates] = {};
  std::size_t states_size = kSizes;
  if (size >= kSizes) {
    for (unsigned i = 0; i < kStates; ++i) {
      const auto both = static_cast<unsigned char>(end[static_cast<int>(i / 2) - int{kSizes}]);
      sizes[i] = i % 2 == 0 ? both & 15 : both >> 4;
      states_size += sizes[i];
    }
  }
  const bool has_words = size > states_size;
  if (std::any_of(sizes, sizes + kStates, [](unsigned bytes) { return bytes > 8; }) ||
      size < states_size || (size - states_size) % sizeof(std::uint32_t) != 0 ||
      // Ensures that four bytes can be read at the end of the words.
      (has_words && states_size < sizeof(std::uint32_t))) {
    throw FormatError("the values of a column are invalid");
  }
  const char* at = end - states_size;
  if (has_words) {
    state_.at = begin;
    state_.end = at;
  }
  for (unsigned i = 0; i < kStates; ++i) {
    state_.states[i] = state_in(at, sizes[i]);
    at += sizes[i];
  }
}

std::uint64_t ColumnDecoder::next(const DecodingTable& table) {
  std::uint64_t& state = state_.states[0];
  const std::uint64_t slot = state & (kAllFrequencies - 1);
  const BinChoice& bin = table.find(slot);
  std::uint64_t value;
  if (bin.width() > kOffsetBits) {
    value = large_value(DecoderState::product_of(bin, slot, state), table.large_bins[bin.low()]);
  } else {
    value = DecoderState::take_small<DecoderState::Words::may_end>(
        table.limits, table.choices, table.shift, state, state_.at, state_.end);
  }
  std::rotate(state_.states, state_.states + 1, state_.states + kStates);
  return value;
}

std::uint64_t ColumnDecoder::large_value(std::uint64_t product, const LargeBin& bin) {
  std::uint64_t& state = state_.states[0];
  const unsigned low_bits = std::min(bin.width, kOffsetBits);
  std::uint64_t offset = product & ((std::uint64_t{1} << low_bits) - 1);
  state = product >> low_bits;
  refill();
  for (unsigned done = low_bits; done < bin.width;) {
    const unsigned taken = std::min(bin.width - done, kOffsetBits);
    offset |= (state & ((std::uint64_t{1} << taken) - 1)) << done;
    state >>= taken;
    refill();
    done += taken;
  }
  return bin.low + offset;
}

}  // namespace tisim::tit
