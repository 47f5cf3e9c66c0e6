#include "trace/tit/recorder/distinct_calls.hpp"

#include <algorithm>

namespace tisim {
namespace tit {
namespace {

constexpr std::size_t kFewestCallSlots = 32;

std::uint64_t hash_of_call(std::uint32_t shape, std::uint64_t columns, const std::int64_t* numbers,
                           std::uint32_t count) {
  std::uint64_t hash = (shape + 1) * 0x9e3779b97f4a7c15u + columns;
  for (std::uint32_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(numbers[i])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  hash *= 0xc4ceb9fe1a85ec53u;
  return hash ^ (hash >> 29);
}

}  // namespace

bool DistinctCalls::equal(const Entry& entry, std::uint32_t shape, std::uint64_t columns,
                          const std::int64_t* numbers, std::uint32_t count) const {
  return entry.shape == shape && entry.columns == columns && entry.count == count &&
         std::equal(numbers, numbers + count, numbers_.data() + entry.first);
}

std::uint32_t DistinctCalls::number_of(std::uint32_t shape, std::uint64_t columns,
                                       const std::int64_t* numbers, std::uint32_t count) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of_call(shape, columns, numbers, count);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const Entry& entry = entries_[slots_[at] - 1];
    if (entry.hash == hash && equal(entry, shape, columns, numbers, count)) return slots_[at] - 1;
  }
  entries_.push_back({shape, count, columns, hash, numbers_.size()});
  numbers_.insert(numbers_.end(), numbers, numbers + count);
  slots_[at] = size();
  return size() - 1;
}

void DistinctCalls::grow() {
  slots_.assign(std::max(kFewestCallSlots, 2 * slots_.size()), 0);
  for (std::uint32_t call = 0; call < entries_.size(); ++call) {
    std::size_t at = entries_[call].hash & (slots_.size() - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = call + 1;
  }
}

void DistinctCalls::clear() {
  entries_.clear();
  numbers_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

}  // namespace tit
}  // namespace tisim
