#include "io/file/file_table.hpp"

#include "core/test.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

namespace {

bool write(FileTable& table, std::int32_t file, std::int64_t offset, std::int64_t bytes) {
  return table.extend(file, FileTable::end_of(offset, bytes), table.growth(file, offset, bytes));
}

}  // namespace

TEST("file table: writes make a file longer, and holes take no room") {
  const std::vector<double> capacities{100.0, 1e9};
  FileTable table(capacities);
  const std::int32_t file = table.add(0, "a", 0);
  CHECK(table.find(0, "a") == file);
  CHECK(table.find(1, "a") == FileTable::kNone);
  CHECK(write(table, file, 0, 60));
  CHECK(write(table, file, 30, 30));
  CHECK(table[file].length == 60);
  CHECK(write(table, file, 1000, 40));
  CHECK(table[file].length == 1040);
  CHECK(!write(table, file, 1040, 1));
  table.verify();
}

TEST("file table: a removed file is there until its last handle is closed") {
  const std::vector<double> capacities{100.0};
  FileTable table(capacities);
  const std::int32_t file = table.add(0, "a", 0);
  ++table[file].handles;
  CHECK(write(table, file, 0, 100));
  table.unlink(file);
  CHECK(table.find(0, "a") == FileTable::kNone);
  const std::int32_t other = table.add(0, "a", 0);
  CHECK(!write(table, other, 0, 1));
  table.release(file);
  CHECK(write(table, other, 0, 100));
  table.truncate(other);
  table.verify();
}

TEST("file table: nobody knows the end of a file that was there before") {
  const std::vector<double> capacities{0.0};
  FileTable table(capacities);
  const std::int32_t file = table.add(0, "a", kUnknownSize);
  CHECK(write(table, file, 1000, 1000));
  CHECK(table[file].length == kUnknownSize);
}

}  // namespace tisim
