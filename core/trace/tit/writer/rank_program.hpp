// The calls of one rank, and the program that is found in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"

namespace tisim::tit {

// An attribute and its value.
using AttributeValue = std::pair<std::uint32_t, std::int64_t>;

// A call as one rank makes it: its shape and the numbers of its holes.
struct Call {
  std::uint32_t shape = 0;
  std::vector<std::int64_t> numbers = {};
  std::vector<AttributeValue> attributes = {};  // fixed ones, ascending
};

// The calls of a rank in their order, and the volumes between them. A caller that makes equal calls
// defines them once.
class RankPart {
 public:
  explicit RankPart(std::uint32_t rank) : rank_(rank) {}
  // In the memory of a part that is not needed any more.
  RankPart(std::uint32_t rank, RankPart&& spare) : RankPart(std::move(spare)) {
    rank_ = rank;
    calls_.clear();
    steps_.clear();
    volumes_.clear();
    marks_.clear();
  }

  std::uint32_t rank() const { return rank_; }

  // The number of a call, the next one from 0.
  std::uint32_t define(Call call) {
    calls_.push_back(std::move(call));
    return static_cast<std::uint32_t>(calls_.size()) - 1;
  }
  // The next call or computation has an attribute that Call::attributes does not name.
  void attribute(std::uint32_t attribute, std::int64_t value) {
    marks_.push_back({steps_.size(), {attribute, value}});
  }
  // A call is made.
  void make(std::uint32_t call) { steps_.push_back(call); }
  // So much is computed; `volume` is a code (volume_code.hpp).
  void compute(std::uint64_t volume) {
    steps_.push_back(kVolume | static_cast<std::uint32_t>(volumes_.size()));
    volumes_.push_back(volume);
  }

  const std::vector<Call>& calls() const { return calls_; }
  std::size_t steps() const { return steps_.size(); }
  bool is_volume(std::size_t step) const { return (steps_[step] & kVolume) != 0; }
  std::uint32_t call_of(std::size_t step) const { return steps_[step]; }
  std::uint64_t volume_of(std::size_t step) const { return volumes_[steps_[step] & ~kVolume]; }
  // Each step is the number of a call, or that of a volume with this bit set.
  static constexpr unsigned kVolumeBit = 31;
  const std::vector<std::uint32_t>& all_steps() const { return steps_; }
  std::size_t volumes() const { return volumes_.size(); }
  const std::vector<std::uint64_t>& all_volumes() const { return volumes_; }

  // Attributes of steps, in their order.
  struct Mark {
    std::size_t step;
    AttributeValue value;
  };
  const std::vector<Mark>& marks() const { return marks_; }

 private:
  static constexpr std::uint32_t kVolume = std::uint32_t{1} << kVolumeBit;

  std::uint32_t rank_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> steps_;
  std::vector<std::uint64_t> volumes_;
  std::vector<Mark> marks_;
};

// A rank's calls with their structure found: what classes are made of.
struct RankProgram {
  std::uint32_t rank = 0;
  Grammar grammar;                                  // of places in `calls`
  std::vector<Call> calls;                          // the distinct ones
  std::vector<std::vector<std::uint32_t>> columns;  // of each: its holes that are in columns
  bool has_volumes = false;                         // the volume before each call is in the column
  std::uint64_t volumes = 0;                        // that are in the column
  // Volumes as their codes plus 1, 0: none; arguments as they are.
  std::vector<std::uint64_t> values;

  // Attributes in columns of each call and of the computation before it, ascending; empty when no
  // call has one. Their values, call by call: those before it first; kNoAttribute: it has none.
  struct Columns {
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> at;
  };
  std::vector<Columns> attributes;
  std::vector<std::int64_t> attribute_values;
};
constexpr std::int64_t kNoAttribute = std::numeric_limits<std::int64_t>::min();

// What is kept from rank to rank, to find the structure sooner.
struct ProgramMemory;

// Finds the structure. Volumes stand in the grammar where that takes less room, else in the column;
// so do arguments that hardly repeat. `volumes_in_column`: they always stand there.
RankProgram program_of(const RankPart& part, bool volumes_in_column, ProgramMemory& memory);
RankProgram program_of(const RankPart& part);

// The calls of a rank, one after the other, each with the volume before it.

class CallList {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // Lists the calls of a part; the memory of the list before is used again. `number_of(call)`: what
  // a call is called here, asked once, when it is met first. `silence()`: the number of the call
  // that stands behind a volume that no call follows at once.
  template <class NumberOf, class Silence>
  void fill(const RankPart& part, const NumberOf& number_of, const Silence& silence) {
    make_room(part);
    silence_ = kNone;
    const std::uint64_t nothing = 0;
    const std::uint64_t* volume = part.volumes() > 0 ? part.all_volumes().data() : &nothing;
    const std::uint64_t* const last_volume = volume + part.volumes() - (part.volumes() > 0 ? 1 : 0);
    std::uint64_t waiting = 0;
    std::size_t size = 0;
    const auto put_silence = [&] {
      if (silence_ == kNone) silence_ = silence();
      calls_[size] = silence_;
      volumes_[size++] = waiting;
    };
    // Without a branch: whether a computation stands before a call is often as good as random.
    for (const std::uint32_t step : part.all_steps()) {
      const std::uint32_t is_volume = step >> RankPart::kVolumeBit;
      if ((waiting != 0) & (is_volume != 0)) put_silence();
      const std::uint32_t call = step & (is_volume - 1);
      std::uint32_t number = number_of_call_[call];
      if (number == kNone && is_volume == 0) {
        number = number_of(call);
        number_of_call_[call] = number;
      }
      calls_[size] = number;
      volumes_[size] = waiting;
      size += 1 - is_volume;
      waiting = (*volume + 1) & (0 - std::uint64_t{is_volume});
      volume += volume == last_volume ? 0 : is_volume;
    }
    if (waiting != 0) put_silence();
    size_ = size;
  }

  std::size_t size() const { return size_; }
  const std::uint32_t* calls() const { return calls_.data(); }
  // Their codes plus 1; 0: nothing is computed.
  const std::uint64_t* volumes() const { return volumes_.data(); }
  // The number of the calls that are none, or kNone.
  std::uint32_t silence() const { return silence_; }

 private:
  void make_room(const RankPart& part) {
    number_of_call_.assign(part.calls().size() + 1, kNone);
    const std::size_t needed = part.steps() + 1;
    if (needed <= calls_.size()) return;
    calls_.resize(needed);
    volumes_.resize(needed);
  }

  std::vector<std::uint32_t> calls_;
  std::vector<std::uint64_t> volumes_;
  std::size_t size_ = 0;  // of both, that are in use
  std::uint32_t silence_ = kNone;
  std::vector<std::uint32_t> number_of_call_;
};

// Numbers for different things, by first use.

// A hash table with linear probing.
class NumberTable {
 public:
  NumberTable() : slots_(kFewestSlots) {}

  // The number of a key, the next one from 0 if it is new.
  std::uint32_t number(std::uint64_t key) {
    const Slot* const slots = slots_.data();
    std::size_t at = place_of(key);
    for (; slots[at].next != 0; at = (at + 1) & mask_) {
      if (slots[at].key == key) return slots[at].next - 1;
    }
    keys_.push_back(key);
    const auto next = static_cast<std::uint32_t>(keys_.size());
    slots_[at] = {key, next};
    if (2 * keys_.size() > slots_.size()) grow();
    return next - 1;
  }

  // The number of a key that has one.
  std::uint32_t known(std::uint64_t key) const {
    std::size_t at = place_of(key);
    while (slots_[at].key != key || slots_[at].next == 0) at = (at + 1) & mask_;
    return slots_[at].next - 1;
  }

  // Forgets all keys, but keeps the memory for new ones.
  void clear() {
    keys_.clear();
    slots_.assign(kFewestSlots, Slot{});
    mask_ = kFewestSlots - 1;
  }

  std::size_t size() const { return keys_.size(); }
  // By their numbers.
  const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  static constexpr std::size_t kFewestSlots = 64;

  // The key stands beside its number, so that a search waits for one look at memory.
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t next = 0;  // the number plus 1; 0: free
  };

  std::size_t place_of(std::uint64_t key) const {
    const std::uint64_t hash = (key ^ (key >> 29)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(hash ^ (hash >> 32)) & mask_;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), Slot{});
    mask_ = slots_.size() - 1;
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = place_of(keys_[i]);
      while (slots_[at].next != 0) at = (at + 1) & mask_;
      slots_[at] = {keys_[i], i + 1};
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<Slot> slots_;
  std::size_t mask_ = kFewestSlots - 1;
};

// The different volumes of a trace.

// Codes of volumes. Small ones, which nearly all are, stand in a bit map, which is found in the
// caches where a hash table is not; it takes at most as much memory as four words a volume.
class VolumeSet {
 public:
  // So many volumes will be added, different ones or not.
  explicit VolumeSet(std::size_t volumes) {
    constexpr std::uint64_t kMostMapped = std::uint64_t{1} << 24;
    constexpr std::uint64_t kBitsOfMap = 256;
    mapped_ = std::min(kMostMapped, (std::uint64_t{volumes} + 1) * kBitsOfMap);
  }

  void add(std::uint64_t code) { add_place(code + 1); }
  // A code plus 1, or 0 for none. Without a branch: which of them it is is often as good as random.
  void add_place(std::uint64_t next) {
    const std::uint64_t is_code = next != 0 ? 1 : 0;
    const std::uint64_t code = next - is_code;
    if (code >= mapped_) {
      others_.number(code);
      return;
    }
    const auto place = static_cast<std::size_t>(code / kWordBits);
    if (place >= words_.size()) words_.resize(place + 1, 0);
    const std::uint64_t word = words_[place];
    in_map_ += static_cast<std::size_t>(~(word >> (code % kWordBits)) & is_code);
    words_[place] = word | is_code << (code % kWordBits);
  }

  std::size_t size() const { return in_map_ + others_.size(); }

  // Numbers them in ascending order; nothing may be added then.
  void number() {
    std::uint32_t before = 0;
    before_.reserve(words_.size());
    for (const std::uint64_t word : words_) {
      before_.push_back(before);
      before += bits_in(word);
    }
    const std::vector<std::uint64_t>& codes = others_.keys();
    sorted_others_ = codes;
    std::sort(sorted_others_.begin(), sorted_others_.end());
    for (const std::uint64_t code : codes) {
      const auto found = std::lower_bound(sorted_others_.begin(), sorted_others_.end(), code);
      number_of_other_.push_back(before +
                                 static_cast<std::uint32_t>(found - sorted_others_.begin()));
    }
  }
  // Of one that was added.
  std::uint64_t number_of(std::uint64_t code) const {
    if (code >= mapped_) return number_of_other_[others_.known(code)];
    const auto place = static_cast<std::size_t>(code / kWordBits);
    const std::uint64_t below = (std::uint64_t{1} << (code % kWordBits)) - 1;
    return before_[place] + bits_in(words_[place] & below);
  }
  // 1 plus the number of a code, given 1 plus the code; 0 for 0.
  std::uint64_t place_of(std::uint64_t next) const {
    const std::uint64_t is_code = next != 0 ? 1 : 0;
    return (number_of(next - is_code) + 1) & (0 - is_code);
  }
  // All of them in the order of their numbers.
  std::vector<std::uint64_t> codes() const {
    std::vector<std::uint64_t> all;
    all.reserve(size());
    for (std::size_t place = 0; place < words_.size(); ++place) {
      std::uint64_t code = place * kWordBits;
      for (std::uint64_t word = words_[place]; word != 0; word >>= 1, ++code) {
        if ((word & 1) != 0) all.push_back(code);
      }
    }
    all.insert(all.end(), sorted_others_.begin(), sorted_others_.end());
    return all;
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  // Not the compiler's, which calls a function where a processor may lack the instruction.
  static std::uint32_t bits_in(std::uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return static_cast<std::uint32_t>((word * 0x0101010101010101U) >> 56);
  }

  std::uint64_t mapped_;  // codes below are in the map
  std::vector<std::uint64_t> words_ = {0};
  std::size_t in_map_ = 0;
  std::vector<std::uint32_t> before_;  // codes in the words before each
  NumberTable others_;
  std::vector<std::uint64_t> sorted_others_;
  std::vector<std::uint32_t> number_of_other_;  // by first use
};

// What the volumes of a rank take in its column, and what they take in its grammar.

// Bits that a volume takes in a model or in a grammar, once; measured.
constexpr double kBitsPerVolume = 20;

struct VolumeCosts {
  double column_bits = 0;    // about: their entropy by the calls around them
  double grammar_items = 0;  // about
  std::size_t distinct = 0;
};

// Tables in memory that is used again for the next rank.
struct VolumeTables {
  std::vector<std::uint32_t> uses;
  NumberTable pairs;
};

// False when there are more than `most_distinct` different volumes. `calls`: those of the part.
bool measure_volumes(const RankPart& part, const CallList& calls, std::size_t most_distinct,
                     VolumeTables& tables, VolumeCosts& costs);

// What the structure of a rank's program is found with.

// Ranks come one after the other: what they have in common is kept, and their memory is used again.
struct ProgramMemory {
  KnownGrammars grammars;
  CallList calls;
  VolumeTables volumes;
};

}  // namespace tisim::tit
