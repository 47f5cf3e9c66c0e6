#include "timeline/run_file/flat_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace tisim {

namespace {

constexpr std::size_t kAligned = 8;
constexpr std::size_t kReference = 4;

}  // namespace

// Fills up with zeros until the size is `rest` more than a multiple of `to`.
void FlatBuffer::align(std::size_t to, std::size_t rest) {
  while (bytes_.size() % to != rest) bytes_.push_back(0);
}

void FlatBuffer::append(std::uint64_t value, std::size_t size) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + size);
  std::memcpy(bytes_.data() + at, &value, size);  // little-endian, as the machines tisim runs on
}

// Lets a reference lead to the end of what has been written.
void FlatBuffer::refer(std::size_t from) {
  const auto distance = static_cast<std::uint32_t>(bytes_.size() - from);
  std::memcpy(bytes_.data() + from, &distance, sizeof distance);
}

std::vector<std::size_t> FlatBuffer::table(std::size_t referred_at,
                                           std::initializer_list<Field> fields) {
  // Before the table, where each of its fields stands: 0, where it has none of a number.
  std::size_t numbers = 0;
  std::size_t size = kReference;
  for (const Field& field : fields) {
    numbers = std::max<std::size_t>(numbers, field.number + std::size_t{1});
    size += field.size;
  }
  std::vector<std::uint16_t> places(2 + numbers);
  places[0] = static_cast<std::uint16_t>(places.size() * sizeof places[0]);
  places[1] = static_cast<std::uint16_t>(size);
  auto place = static_cast<std::uint16_t>(kReference);
  for (const Field& field : fields) {
    places[2 + field.number] = place;
    place = static_cast<std::uint16_t>(place + field.size);
  }
  align(2, 0);
  const std::size_t before = bytes_.size();
  for (const std::uint16_t one : places) append(one, sizeof one);
  align(kAligned, kAligned - kReference);  // its first field may have eight bytes
  refer(referred_at);
  append(bytes_.size() - before, kReference);
  std::vector<std::size_t> found;
  for (const Field& field : fields) {
    if (field.size == kReference) found.push_back(bytes_.size());
    append(field.value, field.size);
  }
  return found;
}

void FlatBuffer::text(std::size_t referred_at, std::string_view text) {
  align(kReference, 0);
  refer(referred_at);
  append(text.size(), kReference);
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.push_back(0);
}

void FlatBuffer::structs(std::size_t referred_at, std::size_t count, std::string_view bytes) {
  align(kAligned, kAligned - kReference);
  refer(referred_at);
  append(count, kReference);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::vector<std::size_t> FlatBuffer::references(std::size_t referred_at, std::size_t count) {
  align(kReference, 0);
  refer(referred_at);
  append(count, kReference);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < count; ++i) {
    found.push_back(bytes_.size());
    append(0, kReference);
  }
  return found;
}

std::string_view FlatBuffer::finish() {
  align(kAligned, 0);
  return {bytes_.data(), bytes_.size()};
}

}  // namespace tisim
