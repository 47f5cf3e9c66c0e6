// Numbers for different things, by first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tisim {
namespace tit {

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

}  // namespace tit
}  // namespace tisim
