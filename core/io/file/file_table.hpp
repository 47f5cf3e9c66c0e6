// The files on disks and file systems, their lengths, and the space they use.
//
// A *disk* here is any device that a name is looked up on: a disk, or, numbered after all disks, a
// file system.
//
// The contents of disks before the simulation are unknown: a file opened without being created
// existed, with any length unless its open gives one. Only writes take space.
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
  std::int64_t length = 0;           // kUnknownSize if unknown
  std::int64_t room = 0;             // disk space taken by its data
  std::int32_t handles = 0;          // open handles
  std::int32_t first_server = 0;     // server with the first stripe, on a file system
  const std::string* key = nullptr;  // owned by the table; null if removed
};

class FileTable {
 public:
  static constexpr std::int32_t kNone = -1;

  // `capacities`: bytes of each disk.
  explicit FileTable(std::span<const double> capacities)
      : capacities_(capacities), used_(capacities.size(), 0.0) {}

  // Returns kNone if the disk has no file of that name.
  std::int32_t find(std::int32_t disk, std::string_view name);
  std::int32_t add(std::int32_t disk, std::string_view name, std::int64_t length);
  File& operator[](std::int32_t file) { return files_[static_cast<std::size_t>(file)]; }
  const File& operator[](std::int32_t file) const { return files_[static_cast<std::size_t>(file)]; }
  // The name used to open the file.
  std::string name(std::int32_t file) const;

  // Offset after the last byte, saturating at the largest offset.
  static std::int64_t end_of(std::int64_t offset, std::int64_t bytes);
  // Additional disk bytes that a file needs for a write.
  std::int64_t growth(std::int32_t file, std::int64_t offset, std::int64_t bytes) const;
  // Extends a file to `end`, using `more` bytes of disk space. Returns false if the disk is full.
  bool extend(std::int32_t file, std::int64_t end, std::int64_t more);
  void truncate(std::int32_t file);
  // Truncates the file, or extends it with a hole, which takes no space.
  void set_length(std::int32_t file, std::int64_t length);
  // Removes the file's name; the file remains until its last handle is closed.
  void unlink(std::int32_t file);
  // Closes a handle of the file.
  void release(std::int32_t file);

  double capacity(std::int32_t disk) const { return capacities_[static_cast<std::size_t>(disk)]; }
  // Bytes of the disk used by files.
  double used(std::int32_t disk) const { return used_[static_cast<std::size_t>(disk)]; }

  // Checks that no disk is overfull. Throws BrokenInvariant.
  void verify() const;

 private:
  static constexpr char kSeparator = '\0';

  const std::string& key_of(std::int32_t disk, std::string_view name);

  std::span<const double> capacities_;
  std::vector<double> used_;  // bytes, by disk
  std::vector<File> files_;
  std::vector<std::int32_t> free_;  // free indices of `files_`
  std::unordered_map<std::string, std::int32_t> index_;
  std::string scratch_;
};

}  // namespace tisim
