// Servers of file systems: stripes, metadata, waits for replies, and write-behind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/stack.hpp"

namespace tisim {

// The layout of a file's bytes on its servers.

// Calls f(server, bytes) for each server that stores part of a byte range, in file order; `server`
// is relative to the server of the file's first stripe. The stripes of a server are combined, so
// the cost is at most the number of servers (RAID 0; Lustre's lov_stripe_size counts likewise).
template <class F>
void for_each_part(std::int64_t stripe, std::int32_t count, std::int64_t offset, std::int64_t bytes,
                   F f) {
  if (bytes <= 0) return;
  offset %= stripe * count;  // the layout repeats
  const std::int64_t end = offset + bytes;
  const std::int64_t first = offset / stripe;
  const std::int64_t last = (end - 1) / stripe;
  const std::int64_t used = std::min<std::int64_t>(last - first + 1, count);
  for (std::int64_t stripes_before = 0; stripes_before < used; ++stripes_before) {
    const std::int64_t begin = first + stripes_before;
    const std::int64_t further = (last - begin) / count;  // further stripes on the same server
    std::int64_t part = (further + 1) * stripe;
    if (begin == first) part -= offset - first * stripe;
    if (begin + further * count == last) part -= (last + 1) * stripe - end;
    f(static_cast<std::int32_t>(begin % count), part);
  }
}

// A server that executes operations one at a time, in order of arrival.
class MetadataServer {
 public:
  // `service`: seconds per operation.
  explicit MetadataServer(double service) : service_(service) {}

  // Returns the date at which an operation that arrives now will end. As the queue is FIFO, the
  // date at which it empties represents it.
  double serve(double now) {
    free_ = std::max(free_, now) + service_;
    return free_;
  }

 private:
  double service_;
  double free_ = 0.0;  // seconds
};

// Waiting times of ranks for the servers of a file system.
//
// A rank waits for the server that replies last to its call. Servers that reply last at the same
// instant share the seconds.

// Time that a rank spent waiting for a server.
struct ServerWait {
  std::int32_t rank = 0;
  std::int32_t server = 0;  // the metadata server comes last
  std::int64_t calls = 0;
  double seconds = 0.0;
};

class ServerWaits {
 public:
  // Adds a call of a rank that took `seconds`; `servers` replied last.
  void add(std::int32_t rank, std::span<const std::int32_t> servers, double seconds);

  // Returns at most `most` waits, longest first.
  std::vector<ServerWait> longest(std::size_t most) const;
  // Waits summed over ranks, for each server.
  std::vector<ServerWait> by_server(std::size_t servers) const;

 private:
  std::unordered_map<std::uint64_t, ServerWait> waits_;  // by rank and server
};

// Data handed over by a writer but not written yet: by a client until the servers have them, or by
// a server until its disk has them.
//
// A write is *accepted* as soon as at most `limit` bytes of itself and the writes before it are
// unwritten; later writes do not count. A flush ends as soon as all writes before it have been
// written.
class WriteBehind {
 public:
  // `limit`: bytes.
  explicit WriteBehind(std::int64_t limit) : limit_(limit) {}

  // Begins a write and returns its number. `ticket` is returned by `collect` once it is accepted.
  std::int64_t begin(std::int64_t bytes, std::int32_t ticket) {
    unwritten_ += bytes;
    queued_ += bytes;
    accepting_.emplace_back(bytes, ticket);
    written_.push_back(false);
    return next() - 1;
  }
  // Marks some bytes of a write as written.
  void progress(std::int64_t write, std::int64_t bytes) {
    unwritten_ -= bytes;
    const std::int64_t place = write - next() + static_cast<std::int64_t>(accepting_.size());
    if (place < 0) return;  // already accepted
    accepting_[static_cast<std::size_t>(place)].first -= bytes;
    queued_ -= bytes;
  }
  // Marks a write as completely written.
  void end(std::int64_t write) {
    written_[static_cast<std::size_t>(write - first_)] = true;
    while (!written_.empty() && written_.front()) {
      written_.pop_front();
      ++first_;
    }
  }
  // `ticket` is returned by `collect` once all writes begun so far have been written.
  void flush(std::int32_t ticket) { flushes_.emplace_back(next(), ticket); }

  // Appends the tickets of newly accepted writes and of completed flushes.
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
  std::int64_t queued_ = 0;     // part of these bytes in writes not accepted yet
  std::deque<std::pair<std::int64_t, std::int32_t>> accepting_;  // unwritten bytes, ticket
  std::int64_t first_ = 0;  // number of the first write in `written_`
  std::deque<bool> written_;
  std::deque<std::pair<std::int64_t, std::int32_t>> flushes_;  // first later write, ticket
};

}  // namespace tisim
