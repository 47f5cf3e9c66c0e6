// The operations of one rank, one at a time, with their communicators resolved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "trace/archive/trace_set.hpp"
#include "trace/walk/communicators.hpp"

namespace tisim {

// Lines of a loop of which some repetitions are not read.
struct SkippedLines {
  std::uint64_t loop_begin = 0;  // lines before the loop
  std::uint64_t by = 0;          // skipped lines

  // Lines in the loop move to the last skipped repetition.
  std::uint32_t moved(std::uint32_t line) const {
    constexpr std::uint64_t kMaxLine = std::numeric_limits<std::uint32_t>::max();
    return line <= loop_begin ? line : static_cast<std::uint32_t>(std::min(line + by, kMaxLine));
  }
};

// A boundary between two repetitions of a loop. Lines in the loop are counted from there, others
// from the beginning.
struct LoopLines {
  std::uint64_t loop_begin = 0;
  std::uint64_t here = 0;

  std::uint64_t relative(std::uint32_t line) const {
    return line <= loop_begin ? line : (std::uint64_t{1} << 63) + (here - line);
  }
};

// How to read loops whose repetitions are equal: skip repetitions, or read every one.
enum class Loops : std::uint8_t { by_repetition, by_action };

class RankWalk {
 public:
  static constexpr std::size_t kUsualBatch = 1024;  // operations

  // `set`, `communicators` and `again` must outlive it. `again` is set if the rank is read again to
  // locate a problem; it receives 1 from time to time. Calls are interned in `calls`; without it
  // the walk has its own table.
  RankWalk(const TraceSet& set, const Communicators& communicators, std::int32_t rank,
           const Progress* again = nullptr, std::size_t batch = kUsualBatch,
           std::shared_ptr<CallTable> calls = nullptr);

  // A call table for walks of several ranks, sequential or concurrent, if they benefit from sharing
  // one: readers of a packed structure share decoded lines. Otherwise nullptr.
  static std::shared_ptr<CallTable> shared_calls(const TraceSet& set);

  // Advances to the next operation; returns false at the end. Throws TraceError.
  bool next();

  const Op& op() const { return ops_[at_]; }
  const Call& call() const { return (*calls_)[static_cast<std::uint32_t>(op().call)]; }
  const CallTable& calls() const { return *calls_; }
  Operation operation() const { return operation_of(op(), *calls_); }
  // The communicator of the operation; that of a comm_split is the parent.
  const CommunicatorView& group() const { return group_; }
  // The communicator with that number at this point.
  CommunicatorView group_of(std::uint16_t comm) const;
  // Number of collectives that this rank has called on that communicator before this one.
  std::uint64_t collective_number() const { return number_; }
  const RankReader& reader() const { return *reader_; }

  // See RankReader. turn() may be called before each next().
  bool stop_at_loops() { return stops_at_loops_ = reader_->stop_at_loops(); }
  std::optional<LoopTurn> turn() {
    if (!stops_at_loops_ || at_ + 1 < count_) return std::nullopt;
    return reader_->next_turn();
  }
  void skip_repetitions(std::uint64_t count) { reader_->skip_repetitions(count); }
  void save_memory() { reader_->save_memory(); }
  // Hash of the rank's communicators.
  std::uint64_t signature() const;

 private:
  struct Open {
    CommunicatorView membership;
    std::uint64_t collectives = 0;
  };

  bool refill();

  const Communicators* communicators_;
  const Progress* again_;
  std::int32_t rank_;
  std::shared_ptr<CallTable> calls_;
  std::unique_ptr<RankReader> reader_;
  // Buffer of the current batch. Not a vector: initialising one takes longer than reading a short
  // rank.
  std::unique_ptr<std::byte[]> buffer_;
  Op* ops_;
  std::size_t batch_;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  std::size_t made_ = 0;
  bool stops_at_loops_ = false;
  Open world_;
  std::map<std::uint16_t, Open> others_;
  CommunicatorView group_;
  std::uint64_t number_ = 0;
};

// True if all ranks of a communicator must call the operation.
bool is_collective(Kind kind);

}  // namespace tisim
