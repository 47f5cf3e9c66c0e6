#include "trace/vocabulary/call.hpp"

#include <bit>

namespace tisim {

namespace {

// The finaliser of splitmix64: every input bit changes half of the output bits.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

std::uint32_t hash_of(const Call& call) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(call.operation),
                           (std::uint64_t{call.comm} << 1) | (call.double_default ? 1 : 0));
  for (const double argument : call.arguments) {
    hash = mix(hash, std::bit_cast<std::uint64_t>(argument));
  }
  for (const std::string& word : call.words) {
    hash = mix(hash, std::hash<std::string>{}(word));
  }
  for (const double number : call.listed) hash = mix(hash, std::bit_cast<std::uint64_t>(number));
  return static_cast<std::uint32_t>(hash);
}

}  // namespace

std::uint32_t CallTable::intern(const Call& call) {
  if (2 * (calls_.size() + 1) > slots_.size()) grow();
  const std::uint32_t hash = hash_of(call);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t id = slots_[at] - 1;
    if (hashes_[id] == hash && calls_[id] == call) return id;
  }
  calls_.push_back(call);
  hashes_.push_back(hash);
  slots_[at] = static_cast<std::uint32_t>(calls_.size());
  return slots_[at] - 1;
}

void CallTable::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < hashes_.size(); ++id) {
    std::size_t at = hashes_[id] & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = id + 1;
  }
}

}  // namespace tisim
