// Locks of ranges of files, as ROMIO takes them while it changes a part of a buffer of a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tisim {

class RangeLocks {
 public:
  // False: another rank holds a part of the range; the rank gets it later.
  bool take(std::int32_t file, std::int64_t begin, std::int64_t end, std::int32_t rank) {
    const Lock lock{begin, end, rank};
    Locks& locks = locks_[file];
    const bool is_free = locks.is_free(lock);
    (is_free ? locks.held : locks.wanted).push_back(lock);
    return is_free;
  }

  // The rank holds nothing of the file any more, and wants nothing. Calls wake(rank) for those that
  // now have their range, in the order in which they wanted it.
  template <class Wake>
  void release(std::int32_t file, std::int32_t rank, Wake&& wake) {
    const auto found = locks_.find(file);
    if (found == locks_.end()) return;
    Locks& locks = found->second;
    const auto is_of_rank = [rank](const Lock& lock) { return lock.rank == rank; };
    std::erase_if(locks.held, is_of_rank);
    std::erase_if(locks.wanted, is_of_rank);
    std::erase_if(locks.wanted, [&](const Lock& lock) {
      if (!locks.is_free(lock)) return false;
      locks.held.push_back(lock);
      wake(lock.rank);
      return true;
    });
    if (locks.held.empty()) locks_.erase(found);
  }

 private:
  struct Lock {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int32_t rank = 0;
  };
  struct Locks {
    std::vector<Lock> held;
    std::vector<Lock> wanted;

    bool is_free(const Lock& lock) const {
      return std::none_of(held.begin(), held.end(), [&lock](const Lock& other) {
        return other.begin < lock.end && lock.begin < other.end;
      });
    }
  };

  std::unordered_map<std::int32_t, Locks> locks_;  // by file
};

}  // namespace tisim
