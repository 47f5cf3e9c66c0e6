#include "trace/vocabulary/file_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tisim {

namespace {

constexpr double kMaxViewNumber = 9007199254740992.0;  // 2^53: doubles represent all integers below
constexpr std::size_t kMinNumbers = 3;                 // displacement, block, distance
constexpr std::size_t kMaxNumbers = 3 + 2 * 16;        // 16 levels

std::string view_text(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

}  // namespace

std::string FileView::error_of(std::span<const double> numbers) {
  if (numbers.size() < kMinNumbers || numbers.size() > kMaxNumbers || numbers.size() % 2 == 0) {
    return "a view needs a displacement, the bytes of a block, a count and a distance for each of "
           "at "
           "most 16 levels, and the distance at which everything repeats";
  }
  for (const double number : numbers) {
    if (number >= 0 && number < kMaxViewNumber) continue;
    return "a number of a view is not between 0 and 2^53";
  }
  double bytes = numbers[1];
  double span = bytes;
  if (bytes < 1) return "the blocks of a view have no bytes";
  for (std::size_t i = 2; i < numbers.size(); i += 2) {
    const bool is_last = i + 1 == numbers.size();
    const double count = is_last ? 1 : numbers[i];
    const double distance = is_last ? numbers[i] : numbers[i + 1];
    if (count < 1) return "a level of a view has no blocks";
    if (distance < span) {
      return "blocks of " + view_text(span) + " bytes that begin every " + view_text(distance) +
             " bytes overlap";
    }
    bytes *= count;
    span += (count - 1) * distance;
    if (span >= kMaxViewNumber) return "a view spans more than 2^53 bytes";
  }
  return {};
}

FileView::FileView(std::span<const double> numbers)
    : displacement_(static_cast<std::int64_t>(numbers[0])) {
  auto bytes = static_cast<std::int64_t>(numbers[1]);
  for (std::size_t i = 2; i < numbers.size(); i += 2) {
    const bool is_last = i + 1 == numbers.size();
    const auto count = is_last ? 1 : static_cast<std::int64_t>(numbers[i]);
    const auto distance = static_cast<std::int64_t>(numbers[is_last ? i : i + 1]);
    // Contiguous blocks are merged.
    const bool is_dense = levels_.empty() && distance == bytes;
    if (is_last || (count > 1 && !is_dense)) levels_.push_back({bytes, distance});
    bytes *= count;
  }
  std::reverse(levels_.begin(), levels_.end());
}

std::int64_t FileView::file_offset(std::int64_t position) const {
  std::int64_t offset = displacement_;
  for (const Level& level : levels_) {
    std::int64_t distance = 0;
    if (__builtin_mul_overflow(position / level.bytes, level.distance, &distance) ||
        __builtin_add_overflow(offset, distance, &offset)) {
      return kBeyond;
    }
    position %= level.bytes;
  }
  return __builtin_add_overflow(offset, position, &offset) ? kBeyond : offset;
}

std::int64_t FileView::end(std::int64_t position, std::int64_t bytes) const {
  std::int64_t last = 0;
  if (__builtin_add_overflow(position, bytes, &last)) return kBeyond;
  if (bytes == 0) return file_offset(position);
  const std::int64_t offset = file_offset(last - 1);
  const bool fits = offset != kBeyond && offset < std::numeric_limits<std::int64_t>::max();
  return fits ? offset + 1 : kBeyond;
}

FileView::Piece FileView::first_piece(std::int64_t position, std::int64_t bytes) const {
  const Level& inner = levels_.back();
  Piece piece{file_offset(position), 0};
  // A view with a single level without gaps shows everything that follows.
  if (levels_.size() == 1 && inner.bytes == inner.distance) return {piece.offset, bytes};
  while (piece.bytes < bytes && file_offset(position + piece.bytes) == piece.offset + piece.bytes) {
    const std::int64_t left = inner.bytes - (position + piece.bytes) % inner.bytes;
    piece.bytes += std::min(left, bytes - piece.bytes);
  }
  return piece;
}

std::int64_t FileView::position_before(std::int64_t offset) const {
  std::int64_t left = std::max<std::int64_t>(offset - displacement_, 0);
  std::int64_t position = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();  // left in the outer level
  for (const Level& level : levels_) {
    // Nothing after the last block of a level belongs to it.
    const std::int64_t count = left / level.distance;
    if (count >= most / level.bytes) return position + most;
    position += count * level.bytes;
    left -= count * level.distance;
    most = level.bytes;
  }
  return position + std::min(left, most);
}

}  // namespace tisim
