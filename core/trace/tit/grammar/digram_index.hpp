// Where in a grammar each pair of neighbouring items stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tisim {
namespace tit {

// A hash table of node numbers with linear probing. What a node hashes to, and which nodes are
// equal, the grammar says in each call; a node may not change while it is in the table.
class DigramIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  DigramIndex() : slots_(kFewestSlots, kNone) {}

  std::size_t size() const { return size_; }
  std::size_t memory() const { return slots_.capacity() * sizeof(std::uint32_t); }

  // The node in the table that is equal to one with this hash, or kNone.
  template <class IsEqual>
  std::uint32_t find(std::uint64_t hash, const IsEqual& is_equal) const {
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      if (slots_[at] == kNone || is_equal(slots_[at])) return slots_[at];
    }
  }

  template <class HashOf>
  void insert(std::uint32_t node, const HashOf& hash_of) {
    if (2 * (size_ + 1) > slots_.size()) grow(hash_of);
    put(node, hash_of(node));
    ++size_;
  }

  // Does nothing when the node is not in the table.
  template <class HashOf>
  void erase(std::uint32_t node, const HashOf& hash_of) {
    std::size_t hole = hash_of(node) & mask();
    for (; slots_[hole] != node; hole = (hole + 1) & mask()) {
      if (slots_[hole] == kNone) return;
    }
    --size_;
    // Later ones of the same cluster move up, so that a search never meets a hole before its end.
    for (std::size_t at = (hole + 1) & mask(); slots_[at] != kNone; at = (at + 1) & mask()) {
      const std::size_t home = hash_of(slots_[at]) & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = kNone;
  }

 private:
  static constexpr std::size_t kFewestSlots = 32;

  std::size_t mask() const { return slots_.size() - 1; }

  void put(std::uint32_t node, std::uint64_t hash) {
    std::size_t at = hash & mask();
    while (slots_[at] != kNone) at = (at + 1) & mask();
    slots_[at] = node;
  }

  template <class HashOf>
  void grow(const HashOf& hash_of) {
    std::vector<std::uint32_t> old(2 * slots_.size(), kNone);
    old.swap(slots_);
    for (const std::uint32_t node : old) {
      if (node != kNone) put(node, hash_of(node));
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t size_ = 0;
};

}  // namespace tit
}  // namespace tisim
