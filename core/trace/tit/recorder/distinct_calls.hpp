// The different calls of a stretch of a program, numbered by first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tisim {
namespace tit {

class DistinctCalls {
 public:
  struct Entry {
    std::uint32_t shape;
    std::uint32_t count;    // of its numbers
    std::uint64_t columns;  // bit i: its number i stands elsewhere, and is 0 here
    std::uint64_t hash;     // of all that makes it different
    std::size_t first;      // of its numbers
  };

  // The number of a call; a new one if it was not met before.
  std::uint32_t number_of(std::uint32_t shape, std::uint64_t columns, const std::int64_t* numbers,
                          std::uint32_t count);

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  const Entry& entry(std::uint32_t call) const { return entries_[call]; }
  const std::int64_t* numbers(std::uint32_t call) const {
    return numbers_.data() + entries_[call].first;
  }
  void clear();
  // Bytes in use, and bytes that are allocated.
  std::size_t used() const {
    return entries_.size() * (sizeof(Entry) + 2 * sizeof(std::uint32_t)) +
           numbers_.size() * sizeof(std::int64_t);
  }
  std::size_t memory() const {
    return entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(std::uint32_t) +
           numbers_.capacity() * sizeof(std::int64_t);
  }

 private:
  bool equal(const Entry& entry, std::uint32_t shape, std::uint64_t columns,
             const std::int64_t* numbers, std::uint32_t count) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint32_t> slots_;  // a call's number plus 1, or 0; linear probing
};

}  // namespace tit
}  // namespace tisim
