// The files on disks and file systems: which there are, how long they are, and how full those.
//
// A *disk* is here what a name was looked up on: a disk, or, numbered after all disks, a file
// system.
//
// The contents of disks before the simulation are not known: a file that is opened without being
// created existed, with any length unless its open says which. Only writes take space.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tisim {

struct File {
  std::int32_t disk = -1;
  std::int64_t length = 0;           // kUnknownSize: not known
  std::int64_t room = 0;             // that its data take on the disk
  std::int32_t handles = 0;          // that are open
  std::int32_t first_server = 0;     // of a file system, that has its first stripe
  const std::string* key = nullptr;  // of the table; null: it has been removed
};

class FileTable {
 public:
  static constexpr std::int32_t kNone = -1;

  // `capacities`: bytes that each disk holds.
  explicit FileTable(std::span<const double> capacities)
      : capacities_(capacities), used_(capacities.size(), 0.0) {}

  // kNone: there is none of that name on the disk.
  std::int32_t find(std::int32_t disk, std::string_view name);
  std::int32_t add(std::int32_t disk, std::string_view name, std::int64_t length);
  File& operator[](std::int32_t file) { return files_[static_cast<std::size_t>(file)]; }
  const File& operator[](std::int32_t file) const { return files_[static_cast<std::size_t>(file)]; }
  // The name that a file was opened by.
  std::string name(std::int32_t file) const;

  // Behind the last of the bytes, or the largest offset.
  static std::int64_t end_of(std::int64_t offset, std::int64_t bytes);
  // How many more bytes of its disk a file takes when bytes are written from an offset on.
  std::int64_t growth(std::int32_t file, std::int64_t offset, std::int64_t bytes) const;
  // Bytes are written up to an end, and so many of them take room. False: the disk has none for
  // them.
  bool extend(std::int32_t file, std::int64_t end, std::int64_t more);
  void truncate(std::int32_t file);
  // Cuts the file, or lets it end with a hole, which takes no room.
  void set_length(std::int32_t file, std::int64_t length);
  // Nobody finds it any more; it is there until its last handle is closed.
  void unlink(std::int32_t file);
  // A handle of it is closed.
  void release(std::int32_t file);

  double capacity(std::int32_t disk) const { return capacities_[static_cast<std::size_t>(disk)]; }
  // Bytes of the disk that its files take.
  double used(std::int32_t disk) const { return used_[static_cast<std::size_t>(disk)]; }

  // Bytes on a disk that have no room on it are none. Throws BrokenInvariant.
  void verify() const;

 private:
  static constexpr char kSeparator = '\0';

  const std::string& key_of(std::int32_t disk, std::string_view name);

  std::span<const double> capacities_;
  std::vector<double> used_;  // bytes of each disk
  std::vector<File> files_;
  std::vector<std::int32_t> free_;  // places there
  std::unordered_map<std::string, std::int32_t> index_;
  std::string scratch_;
};

}  // namespace tisim
