#include "timeline/state_file.hpp"

#include <sys/types.h>

#include <algorithm>
#include <cerrno>
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

}  // namespace tisim
