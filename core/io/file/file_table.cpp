#include "io/file/file_table.hpp"

#include <algorithm>
#include <limits>

#include "support/invariant.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

std::int64_t FileTable::end_of(std::int64_t offset, std::int64_t bytes) {
  constexpr std::int64_t kMaxOffset = std::numeric_limits<std::int64_t>::max();
  return offset > kMaxOffset - bytes ? kMaxOffset : offset + bytes;
}

// Joins disk and name into one key, so that a file takes one map entry.
const std::string& FileTable::key_of(std::int32_t disk, std::string_view name) {
  scratch_ = std::to_string(disk);
  scratch_ += kSeparator;
  scratch_ += name;
  return scratch_;
}

std::int32_t FileTable::find(std::int32_t disk, std::string_view name) {
  const auto entry = index_.find(key_of(disk, name));
  return entry == index_.end() ? kNone : entry->second;
}

std::int32_t FileTable::add(std::int32_t disk, std::string_view name, std::int64_t length) {
  std::int32_t place = static_cast<std::int32_t>(files_.size());
  if (free_.empty()) {
    files_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  const auto entry = index_.emplace(key_of(disk, name), place).first;
  (*this)[place] = File{.disk = disk, .length = length, .key = &entry->first};
  return place;
}

std::string FileTable::name(std::int32_t file) const {
  const std::string* const key = (*this)[file].key;
  return key == nullptr ? "a removed file" : "'" + key->substr(key->find(kSeparator) + 1) + "'";
}

std::int64_t FileTable::growth(std::int32_t file, std::int64_t offset, std::int64_t bytes) const {
  const std::int64_t length = (*this)[file].length;
  const std::int64_t end = end_of(offset, bytes);
  // How much of a preexisting file of unknown length is overwritten is unknown: count no growth.
  if (length == kUnknownSize || end <= length) return 0;
  return std::min(end - length, bytes);  // holes take no space
}

bool FileTable::extend(std::int32_t file, std::int64_t end, std::int64_t more) {
  File& written = (*this)[file];
  if (written.length == kUnknownSize || end <= written.length) return true;
  double& used = used_[static_cast<std::size_t>(written.disk)];
  const double after = used + static_cast<double>(more);
  if (after > capacity(written.disk)) return false;
  used = after;
  written.room += more;
  written.length = end;
  return true;
}

void FileTable::truncate(std::int32_t file) {
  File& truncated = (*this)[file];
  used_[static_cast<std::size_t>(truncated.disk)] -= static_cast<double>(truncated.room);
  truncated.room = truncated.length = 0;
}

void FileTable::set_length(std::int32_t file, std::int64_t length) {
  File& changed = (*this)[file];
  const std::int64_t lost = std::max<std::int64_t>(changed.room - length, 0);
  used_[static_cast<std::size_t>(changed.disk)] -= static_cast<double>(lost);
  changed.room -= lost;
  changed.length = length;
}

void FileTable::unlink(std::int32_t file) {
  const std::string key = *(*this)[file].key;
  (*this)[file].key = nullptr;
  index_.erase(key);
  if ((*this)[file].handles > 0) return;
  truncate(file);
  free_.push_back(file);
}

void FileTable::release(std::int32_t file) {
  if (--(*this)[file].handles > 0 || (*this)[file].key != nullptr) return;
  truncate(file);
  free_.push_back(file);
}

void FileTable::verify() const {
  std::vector<double> rooms(used_.size(), 0.0);
  for (const File& file : files_) {
    ensure(file.handles >= 0, "a file is not closed more often than it was opened");
    if (file.disk >= 0) {
      rooms[static_cast<std::size_t>(file.disk)] += static_cast<double>(file.room);
    }
  }
  ensure(rooms == used_, "the used space of a disk is the total size of its files");
  for (std::size_t i = 0; i < used_.size(); ++i) {
    ensure(used_[i] <= capacities_[i], "no disk exceeds its capacity");
  }
}

}  // namespace tisim
