// Codes the values of a column with the models of their sites, and decodes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "trace/tit/column/site_model.hpp"

namespace tisim::tit {

// Codes values with the models of their sites, from the last one to the first.
class ColumnEncoder {
 public:
  // Model number of a site whose values are not coded.
  static constexpr std::uint32_t kNoModel = 0xffffffffU;

  // `model_of`: the number of the model of each site.
  ColumnEncoder(std::vector<SiteModel> models, const std::vector<std::uint32_t>& model_of);
  // One site per model.
  explicit ColumnEncoder(std::vector<SiteModel> models);
  // Not copyable: it refers to its own tables.
  ColumnEncoder(const ColumnEncoder&) = delete;
  ColumnEncoder& operator=(const ColumnEncoder&) = delete;

  // True if the values of a site are coded.
  bool is_coded(std::uint32_t site) const { return table_of_[site] != nullptr; }
  // The stream of `size` values and their sites; `coded` of them have a model, which must have bins
  // for them.
  std::string encode(const std::uint64_t* values, const std::uint32_t* sites, std::size_t size,
                     std::size_t coded);

  // Adds a single value of a site with a model; finish() returns the stream of the values added
  // since the previous call.
  void add(std::uint32_t site, std::uint64_t value) {
    values_.push_back(value);
    sites_.push_back(site);
  }
  std::string finish();

 private:
  // A bin, prepared for coding.
  struct CodedBin {
    std::uint64_t low;
    std::uint32_t first_number;  // of its slots among those of all bins
    std::uint16_t width;
    std::uint16_t frequency;
  };
  // Coding data of a model. If its values are close together, a table gives their bins.
  struct CodingTable {
    std::vector<CodedBin> bins;
    std::vector<std::uint16_t> slots;   // of all bins, for each in the order of slot numbers
    std::vector<std::uint16_t> bin_of;  // of the values from the lowest one on; may be empty
    std::uint64_t lowest = 0;
    const SiteModel* model = nullptr;
  };
  // Values left to encode, from the last one down.
  struct Rest {
    const std::uint64_t* values;
    const std::uint32_t* sites;
    std::size_t size;
  };

  static CodingTable table_of(const SiteModel& model);
  static std::uint64_t encoded(std::uint64_t state, const CodingTable& table, std::uint64_t value,
                               std::uint32_t*& words);
  std::uint32_t* encode_all(Rest rest, std::uint64_t first_state, std::uint64_t states[]) const;

  std::vector<SiteModel> models_;
  std::vector<CodingTable> tables_;           // of the models
  std::vector<const CodingTable*> table_of_;  // by site; nullptr: not coded
  std::vector<std::uint64_t> values_;
  std::vector<std::uint32_t> sites_;
  // The words emitted by the coder, from the end down.
  std::unique_ptr<std::uint32_t[]> words_;
  std::size_t words_size_ = 0;
};

// Decodes the values of a column.
//
// An rANS coder with four states that take turns, so that values do not depend on the previous one.
// A value takes one table lookup, one multiplication and at most one word of the stream (more if
// its bin is wider than 2^20).

// A state below this takes a word of the stream, if there is one left.
constexpr std::uint64_t kMinState = std::uint64_t{1} << 32;
constexpr unsigned kStates = 4;

// Decoder state that loops over many values keep in registers.
struct DecoderState {
  static constexpr char kNoWord[sizeof(std::uint32_t)] = {};

  std::uint64_t states[kStates] = {};  // in order of turns
  const char* at = kNoWord;            // at least four bytes are readable here, also at the end
  const char* end = kNoWord;           // of the words

  // How often a state takes a word: for nearly every value, rarely, or until none is left.
  enum class Words : std::uint8_t { often, rarely, may_end };

  // Takes a value of a model without large bins from `state`.
  template <Words kWords>
  [[gnu::always_inline]] static std::uint32_t take_small(const std::uint16_t* limits,
                                                         const BinChoice* choices,
                                                         std::uint32_t shift, std::uint64_t& state,
                                                         const char*& at, const char* end) {
    const std::uint64_t slot = state & (kAllFrequencies - 1);
    const BinChoice& bin = DecodingTable::find(limits, choices, shift, slot);
    const std::uint64_t product = product_of(bin, slot, state);
    const std::uint32_t bits = bin.low_and_width;
    state = product >> (bits & BinChoice::kLarge);
    const std::uint64_t above = state << (bits & BinChoice::kLarge);
    if (kWords == Words::often) {
      take_often(state, at);
    } else if (state < kMinState && (kWords == Words::rarely || at != end)) {
      take_word(state, at);
    }
    return static_cast<std::uint32_t>(product - above) + (bits >> BinChoice::kWidthBits);
  }

  [[gnu::always_inline]] static std::uint64_t product_of(const BinChoice& bin, std::uint64_t slot,
                                                         std::uint64_t state) {
    const auto number = slot + static_cast<std::uint64_t>(std::int64_t{bin.shift});
    return bin.frequency * (state >> kFrequencyBits) + number;
  }

  static std::uint32_t word_at(const char* at) {
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
  }

  [[gnu::always_inline]] static void take_word(std::uint64_t& state, const char*& at) {
    state = (state << 32) | word_at(at);
    at += sizeof(std::uint32_t);
  }

  // Takes a word if the state is low. Branch-free: this is as random as the values.
  [[gnu::always_inline]] static void take_often(std::uint64_t& state, const char*& at) {
    const auto is_low =
        static_cast<std::uint64_t>(static_cast<std::int64_t>((state >> 32) - 1) >> 63);
    state = (state << (is_low & 32)) | (word_at(at) & is_low);
    at += is_low & sizeof(std::uint32_t);
  }
};

class ColumnDecoder {
 public:
  // The stream must outlive the decoder. Throws FormatError if it is not a stream.
  void start(const char* begin, const char* end);

  // Any stream gives values, whatever its contents: from bins of the model, without reading past
  // the stream, and without an end. A checksum must verify the stream.
  std::uint64_t next(const SiteModel& model) { return next(model.table()); }
  std::uint64_t next(const DecodingTable& table);

  // True at the end of the stream: no word is left, and the states are the encoder's initial ones.
  bool finished() const {
    const std::uint64_t first = state_.states[0];
    for (const std::uint64_t other : state_.states) {
      if (other != first) return false;
    }
    return state_.at == state_.end && (first == 0 || first == kMinState);
  }

  DecoderState& state() { return state_; }

 private:
  std::uint64_t large_value(std::uint64_t product, const LargeBin& bin);
  void refill() {
    if (state_.states[0] < kMinState && state_.at != state_.end) {
      DecoderState::take_word(state_.states[0], state_.at);
    }
  }

  DecoderState state_;
};

}  // namespace tisim::tit
