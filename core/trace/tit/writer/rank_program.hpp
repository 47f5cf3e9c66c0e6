// The calls of one rank, and the program found in them.
#pragma once

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

// A call of one rank: its shape and the numbers of its holes.
struct Call {
  std::uint32_t shape = 0;
  std::vector<std::int64_t> numbers = {};
  std::vector<AttributeValue> attributes = {};  // fixed ones, ascending
};

// The calls of a rank in order, and the volumes between them. Equal calls are defined once.
class RankPart {
 public:
  explicit RankPart(std::uint32_t rank) : rank_(rank) {}
  // Reuses the memory of a part that is no longer needed.
  RankPart(std::uint32_t rank, RankPart&& spare) : RankPart(std::move(spare)) {
    rank_ = rank;
    calls_.clear();
    steps_.clear();
    volumes_.clear();
    marks_.clear();
  }

  std::uint32_t rank() const { return rank_; }

  // Defines a call; returns its number, starting from 0.
  std::uint32_t define(Call call) {
    calls_.push_back(std::move(call));
    return static_cast<std::uint32_t>(calls_.size()) - 1;
  }
  // Adds an attribute, not in Call::attributes, to the next call or computation.
  void attribute(std::uint32_t attribute, std::int64_t value) {
    marks_.push_back({steps_.size(), {attribute, value}});
  }
  // Adds a call.
  void make(std::uint32_t call) { steps_.push_back(call); }
  // Adds a computation; `volume` is a code (volume_code.hpp).
  void compute(std::uint64_t volume) {
    steps_.push_back(kVolume | static_cast<std::uint32_t>(volumes_.size()));
    volumes_.push_back(volume);
  }

  const std::vector<Call>& calls() const { return calls_; }
  std::size_t steps() const { return steps_.size(); }
  bool is_volume(std::size_t step) const { return (steps_[step] & kVolume) != 0; }
  std::uint32_t call_of(std::size_t step) const { return steps_[step]; }
  std::uint64_t volume_of(std::size_t step) const { return volumes_[steps_[step] & ~kVolume]; }
  std::size_t volumes() const { return volumes_.size(); }

  // Attributes of steps, in order.
  struct Mark {
    std::size_t step;
    AttributeValue value;
  };
  const std::vector<Mark>& marks() const { return marks_; }

 private:
  // Each step is the number of a call, or the number of a volume with this bit set.
  static constexpr std::uint32_t kVolume = std::uint32_t{1} << 31;

  std::uint32_t rank_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> steps_;
  std::vector<std::uint64_t> volumes_;
  std::vector<Mark> marks_;
};

// A rank's calls with their structure, from which classes are built.
struct RankProgram {
  std::uint32_t rank = 0;
  Grammar grammar;                                  // of indices into `calls`
  std::vector<Call> calls;                          // the distinct ones
  std::vector<std::vector<std::uint32_t>> columns;  // by call: its holes that are in columns
  bool has_volumes = false;                         // the column has the volume before each call
  std::uint64_t volumes = 0;                        // in the column
  // Volumes as their codes plus 1, 0: none; arguments unchanged.
  std::vector<std::uint64_t> values;

  // Attributes in columns of each call and of the computation before it, ascending; empty if no
  // call has any. Their values, call by call, those before it first; kNoAttribute: none.
  struct Columns {
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> at;
  };
  std::vector<Columns> attributes;
  std::vector<std::int64_t> attribute_values;
};
constexpr std::int64_t kNoAttribute = std::numeric_limits<std::int64_t>::min();

// Finds the structure. Volumes are put in the grammar if that takes less room, else in the column,
// like arguments that rarely repeat. `volumes_in_column`: always in the column. `grammars`: those
// of earlier ranks.
RankProgram program_of(const RankPart& part, bool volumes_in_column, KnownGrammars& grammars);
RankProgram program_of(const RankPart& part);

// Numbers distinct keys by first use.

// A hash table with linear probing.
class NumberTable {
 public:
  NumberTable() : slots_(kMinSlots) {}

  // The number of a key; the next one from 0 if it is new.
  std::uint32_t number(std::uint64_t key) {
    const Slot* const slots = slots_.data();
    std::size_t at = slot_of(key);
    for (; slots[at].next != 0; at = (at + 1) & mask_) {
      if (slots[at].key == key) return slots[at].next - 1;
    }
    keys_.push_back(key);
    const auto next = static_cast<std::uint32_t>(keys_.size());
    slots_[at] = {key, next};
    if (2 * keys_.size() > slots_.size()) grow();
    return next - 1;
  }

  std::size_t size() const { return keys_.size(); }
  // The keys in order of their numbers.
  const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  static constexpr std::size_t kMinSlots = 64;

  // The key is stored next to its number, so that a search takes one memory access.
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t next = 0;  // the number plus 1; 0: free
  };

  std::size_t slot_of(std::uint64_t key) const {
    const std::uint64_t hash = (key ^ (key >> 29)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(hash ^ (hash >> 32)) & mask_;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), Slot{});
    mask_ = slots_.size() - 1;
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = slot_of(keys_[i]);
      while (slots_[at].next != 0) at = (at + 1) & mask_;
      slots_[at] = {keys_[i], i + 1};
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<Slot> slots_;
  std::size_t mask_ = kMinSlots - 1;
};

}  // namespace tisim::tit
