// Reads and writes that are going on, and what the files of each name carry over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/time_bins.hpp"
#include "trace/habits/file_habits.hpp"

namespace tisim {

class FileTransfers {
 public:
  struct Transfer {
    std::int32_t use = -1;  // of `FileHabits::uses`
    bool writes = false;
    std::int64_t bytes = 0;
  };

  // `moved` takes the bytes over time.
  explicit FileTransfers(TimeBins& moved) : moved_(moved) {}

  FileHabits::Ends open(const std::string& name, std::int32_t file_system, std::int64_t alignment) {
    const FileHabits::Ends ends = habits_.open(name, file_system, alignment);
    while (series_.size() < 2 * habits_.uses().size()) series_.push_back(moved_.add_series());
    return ends;
  }

  // One that takes no time ends at once and is not told.
  Transfer access(FileHabits::Ends& ends, bool writes, std::int64_t offset, std::int64_t bytes,
                  std::int64_t behind) {
    habits_.access(ends, writes, offset, bytes, behind);
    return {ends.use, writes, bytes};
  }

  // A rank waits for it.
  void begin(std::int32_t rank, const Transfer& transfer) { of_rank_[rank] = transfer; }
  void end(std::int32_t rank, double since, double now) {
    const auto found = of_rank_.find(rank);
    if (found == of_rank_.end()) return;
    if (found->second.use >= 0) habits_.take_seconds(found->second.use, now - since);
    spread(found->second, since, now);
    of_rank_.erase(found);
  }

  // It goes on while its rank does; the activity ends with it.
  void start(std::int32_t activity, const Transfer& transfer, double now) {
    of_activity_.emplace(activity, std::pair{transfer, now});
  }
  void end_started(std::int32_t activity, bool failed, double now) {
    const auto found = of_activity_.find(activity);
    if (!failed) spread(found->second.first, found->second.second, now);
    of_activity_.erase(found);
  }

  const FileHabits& habits() const { return habits_; }
  // Of each use, the series of the bytes read, and behind it that of the bytes written.
  const std::vector<std::size_t>& series() const { return series_; }

 private:
  void spread(const Transfer& transfer, double since, double now) {
    if (transfer.use < 0) return;
    const std::size_t place =
        static_cast<std::size_t>(transfer.use) * 2 + (transfer.writes ? 1 : 0);
    moved_.spread(series_[place], since, now, static_cast<double>(transfer.bytes));
  }

  TimeBins& moved_;
  FileHabits habits_;
  std::vector<std::size_t> series_;
  std::unordered_map<std::int32_t, Transfer> of_rank_;
  std::unordered_map<std::int32_t, std::pair<Transfer, double>> of_activity_;  // and since when
};

}  // namespace tisim
