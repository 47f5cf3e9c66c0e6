// The operations of one rank, in batches, whatever form its trace has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// A place in front of a repetition of a loop, or behind its last one.
struct LoopTurn {
  std::uint64_t left = 0;  // repetitions still to come
  std::uint64_t line = 0;  // lines before this place
  bool is_first = false;   // in front of the first repetition
};

// TraceSet::open() makes one. Readers of text and of packed traces know nothing of one another.
class RankReader {
 public:
  RankReader() = default;
  virtual ~RankReader() = default;
  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;

  // The next operations, `capacity` of them; fewer only at the end of the trace. Throws TraceError.
  virtual std::size_t read(Op* out, std::size_t capacity) = 0;

  // From now on read() ends at each turn of a loop of the trace's structure, until next_turn() has
  // told it. Loops within a loop, and short ones, are none. False where no loop is known: then
  // nothing changes.
  virtual bool stop_at_loops() { return false; }
  // Stops there, or reads on for the time being, where it has been asked to stop; at first it does.
  virtual void stop_at_turns(bool /*stops*/) {}
  // The turn in front of the next operation, each one once. To be asked when all that read() gave
  // has been used.
  virtual std::optional<LoopTurn> next_turn() { return std::nullopt; }
  // Leaves out so many repetitions, all that are left at most. To be asked for at a turn behind a
  // repetition whose turns, before and behind it, were told: those left out count as many lines.
  virtual void skip_repetitions(std::uint64_t /*count*/) {}

  // Takes less memory from now on, and more time: for a reader among a great many.
  virtual void save_memory() {}

  // Bytes of the trace that the operations up to now take, of those that TraceSet::bytes() counts.
  virtual std::uint64_t bytes_read() const = 0;

  // The file that the operations' lines are in.
  virtual std::string file() const = 0;

  // True if a source of -333 was taken for ANY_SOURCE; true if a type of unknown width was taken
  // for 0 bytes.
  virtual bool uses_mistaken_null() const = 0;
  virtual bool uses_lost_type() const = 0;
};

// Changes what another reader reads, and knows nothing of loops.
class ReaderDecorator : public RankReader {
 public:
  explicit ReaderDecorator(std::unique_ptr<RankReader> reader) : reader_(std::move(reader)) {}

  void save_memory() override { reader_->save_memory(); }
  std::uint64_t bytes_read() const override { return reader_->bytes_read(); }
  std::string file() const override { return reader_->file(); }
  bool uses_mistaken_null() const override { return reader_->uses_mistaken_null(); }
  bool uses_lost_type() const override { return reader_->uses_lost_type(); }

 protected:
  RankReader& decorated() { return *reader_; }

 private:
  std::unique_ptr<RankReader> reader_;
};

}  // namespace tisim
