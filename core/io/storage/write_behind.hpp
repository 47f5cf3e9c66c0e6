// Data that a writer has handed over and that are still to be written: by a client whose cache they
// are in until the servers have them, or by a server until its disk has them.
//
// A write is *accepted* as soon as no more than `limit` bytes of the writes before it and of itself
// are still to be written; the bytes of later ones do not count. A flush is over as soon as all
// writes before it have been written.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "support/stack.hpp"

namespace tisim {

class WriteBehind {
 public:
  // `limit`: bytes.
  explicit WriteBehind(std::int64_t limit) : limit_(limit) {}

  // A write begins; its number. `ticket` is handed back once it is accepted.
  std::int64_t begin(std::int64_t bytes, std::int32_t ticket) {
    unwritten_ += bytes;
    queued_ += bytes;
    accepting_.emplace_back(bytes, ticket);
    written_.push_back(false);
    return next() - 1;
  }
  // Some of the bytes of a write have been written.
  void progress(std::int64_t write, std::int64_t bytes) {
    unwritten_ -= bytes;
    const std::int64_t place = write - next() + static_cast<std::int64_t>(accepting_.size());
    if (place < 0) return;  // it has been accepted
    accepting_[static_cast<std::size_t>(place)].first -= bytes;
    queued_ -= bytes;
  }
  // All of them have.
  void end(std::int64_t write) {
    written_[static_cast<std::size_t>(write - first_)] = true;
    while (!written_.empty() && written_.front()) {
      written_.pop_front();
      ++first_;
    }
  }
  // `ticket` is handed back once all writes that have begun have been written.
  void flush(std::int32_t ticket) { flushes_.emplace_back(next(), ticket); }

  // Appends the tickets of the writes that are accepted now and of the flushes that are over.
  void collect(Stack<std::int32_t>& tickets) {
    while (!accepting_.empty()) {
      const auto [bytes, ticket] = accepting_.front();
      if (unwritten_ - (queued_ - bytes) > limit_) break;
      queued_ -= bytes;
      tickets.push_back(ticket);
      accepting_.pop_front();
    }
    while (!flushes_.empty() && flushes_.front().first <= first_) {
      tickets.push_back(flushes_.front().second);
      flushes_.pop_front();
    }
  }

 private:
  // The number of the next write.
  std::int64_t next() const { return first_ + static_cast<std::int64_t>(written_.size()); }

  std::int64_t limit_;
  std::int64_t unwritten_ = 0;  // bytes of all writes
  std::int64_t queued_ = 0;     // of them, those of writes that are not accepted
  std::deque<std::pair<std::int64_t, std::int32_t>> accepting_;  // such bytes, ticket
  std::int64_t first_ = 0;  // number of the first write that `written_` tells of
  std::deque<bool> written_;
  std::deque<std::pair<std::int64_t, std::int32_t>> flushes_;  // the first write after it, ticket
};

}  // namespace tisim
