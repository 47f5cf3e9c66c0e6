// The requests of one rank: which are pending, and which are never completed.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/walk/finding.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

class Requests {
 public:
  // `legacy`: a wait is for the request that was posted last.
  Requests(std::int32_t rank, bool legacy) : rank_(rank), legacy_(legacy) {}

  // Takes the operation at hand into account.
  void take(const RankWalk& walk, Findings& findings);
  // Reports what is still pending at the end of the rank.
  void finish(const RankWalk& walk, Findings& findings);

 private:
  struct Key {
    std::uint16_t comm;
    std::int32_t source;
    std::int64_t destination;
    std::int32_t tag;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Pending {
    std::uint32_t line;
    bool may_be_complete;  // tested
    std::uint64_t number;  // of those that were posted
    std::uint32_t next;    // the place in requests_ of the next one with the same key
  };
  // The requests of one key in the order in which they were posted: places in requests_.
  struct Queue {
    std::uint32_t first;
    std::uint32_t last;
  };

  void post(const Key& key, std::uint32_t line);
  void wait(const RankWalk& walk, Findings& findings);
  void wait_last(const RankWalk& walk, Findings& findings);
  void test(const Key& key);
  void test_all();
  void clear();

  std::int32_t rank_;
  bool legacy_;
  std::uint64_t posted_ = 0;
  std::uint64_t tested_ = 0;  // the first so many posted ones have been tested together
  std::unordered_map<Key, Queue, KeyHash> pending_;
  std::vector<Pending> requests_;
  std::vector<std::uint32_t> free_;        // places in requests_ of none that is pending
  std::vector<Pending> stack_;             // instead, in the legacy dialect
  std::deque<std::uint32_t> collectives_;  // lines of pending non-blocking ones
  std::uint64_t complete_somewhere_ = 0;   // by waitany: which is not known
};

}  // namespace tisim
