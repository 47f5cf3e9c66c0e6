#include "timeline/state_file.hpp"

#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace tisim {

namespace {
constexpr std::int64_t kRows = 16384;  // that are kept in memory

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path);
}
}  // namespace

StateFile::StateFile(const std::string& path) : file_(std::fopen(path.c_str(), "rb")), path_(path) {
  if (!file_ || fseeko(file_.get(), 0, SEEK_END) != 0) fail(path);
  size_ =
      static_cast<std::int64_t>(ftello(file_.get())) / static_cast<std::int64_t>(sizeof(StateRow));
}

// The file is walked forwards or backwards: rows on both sides of the index are read.
void StateFile::load(std::int64_t index) {
  const std::int64_t last = first_ + static_cast<std::int64_t>(rows_.size());
  const bool backwards = index < first_ && !rows_.empty();
  first_ = backwards ? std::max<std::int64_t>(index + 1 - kRows, 0) : index;
  if (!backwards && index != last) first_ = std::max<std::int64_t>(index + 1 - kRows, 0);
  rows_.resize(static_cast<std::size_t>(std::min(kRows, size_ - first_)));
  const off_t offset = static_cast<off_t>(first_ * static_cast<std::int64_t>(sizeof(StateRow)));
  if (fseeko(file_.get(), offset, SEEK_SET) != 0) fail(path_);
  if (std::fread(rows_.data(), sizeof(StateRow), rows_.size(), file_.get()) != rows_.size()) {
    fail(path_);
  }
}

std::vector<float> state_density(const std::string& states, double begin, double end,
                                 std::size_t bins, std::span<const std::int32_t> groups,
                                 std::size_t count) {
  std::vector<float> seconds(count * bins * kStates);
  const double width = (end - begin) / static_cast<double>(bins);
  const auto bin_of = [&](double time) {
    return std::min(static_cast<std::size_t>((time - begin) / width), bins - 1);
  };
  StateFile file(states);
  for (std::int64_t i = 0; i < file.size(); ++i) {
    const StateRow& row = file[i];
    const double from = std::max(row.start, begin);
    const double to = std::min(row.end, end);
    if (from >= to) continue;
    const auto rank = static_cast<std::size_t>(row.rank);
    if (rank >= groups.size()) throw std::out_of_range("a state of a rank without a group");
    const auto group = static_cast<std::size_t>(groups[rank]);
    const std::size_t last = bin_of(to);
    for (std::size_t bin = bin_of(from); bin <= last; ++bin) {
      const double left = std::max(from, begin + width * static_cast<double>(bin));
      const double right =
          bin == last ? to : std::min(to, begin + width * static_cast<double>(bin + 1));
      if (right > left) {
        seconds[(group * bins + bin) * kStates + row.state] += static_cast<float>(right - left);
      }
    }
  }
  return seconds;
}

}  // namespace tisim
