// The operations of one rank in batches, independent of the trace's form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// A boundary of a loop: before a repetition, or after the last one.
struct LoopTurn {
  std::uint64_t remaining = 0;  // repetitions
  std::uint64_t line = 0;       // lines before this boundary
  bool is_first = false;        // before the first repetition
};

// Created by TraceSet::open(). Readers of text and of packed traces do not depend on each other.
class RankReader {
 public:
  RankReader() = default;
  virtual ~RankReader() = default;
  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;

  // Reads the next `capacity` operations; fewer only at the end of the trace. Throws TraceError.
  virtual std::size_t read(Op* out, std::size_t capacity) = 0;

  // Makes read() end at each turn of a loop in the trace's structure, until next_turn() has
  // returned that turn. Nested and short loops have no turns. Returns false, without effect, if no
  // loop is known.
  virtual bool stop_at_loops() { return false; }
  // Pauses or resumes these stops; they are enabled initially.
  virtual void set_stops_at_turns(bool /*stops*/) {}
  // Returns the turn before the next operation, each turn once. Call it only when all operations
  // from read() have been used.
  virtual std::optional<LoopTurn> next_turn() { return std::nullopt; }
  // Skips `count` repetitions, at most the remaining ones. Only valid at a turn after a repetition
  // whose two turns were both returned: each skipped one counts as many lines.
  virtual void skip_repetitions(std::uint64_t /*count*/) {}

  // Uses less memory and more time from here on: for a reader among very many.
  virtual void save_memory() {}

  // Bytes of the trace that the operations so far occupy, out of TraceSet::bytes().
  virtual std::uint64_t bytes_read() const = 0;

  // The file that contains the operations' lines.
  virtual std::string file() const = 0;

  // True if a source of -333 was read as ANY_SOURCE; true if a type of unknown width was read as 0
  // bytes.
  virtual bool uses_mistaken_null() const = 0;
  virtual bool uses_lost_type() const = 0;
};

// Modifies the operations of another reader; does not stop at loops by default.
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
