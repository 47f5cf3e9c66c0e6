// The operations of one rank, in batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "trace/vocabulary/op.hpp"
#include "trace/compute_noise.hpp"
#include "trace/archive/file.hpp"
#include "trace/text/line_buffer.hpp"
#include "trace/text/line_parser.hpp"
#include "trace/text/quick_line.hpp"

namespace tisim {

// In a rank's part of a split file, a line with this byte and a number says which line of the file
// comes next.
inline constexpr char kLineMark = '\x02';

class RankReader {
 public:
  virtual ~RankReader() = default;
  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;

  // The next operations, `capacity` of them; fewer only at the end of the trace. Throws TraceError.
  std::size_t read(Op* out, std::size_t capacity) {
    const std::size_t count = read_next(out, capacity);
    if (volumes_) volumes_->apply(out, count);
    return count;
  }

  // Bytes of the trace that the operations up to now take, of those that TraceSet::bytes() counts.
  virtual std::uint64_t bytes_read() const = 0;

  // The file that the operations' lines are in.
  virtual std::string file() const { return parser_.file(); }
  // Whether a source of -333 was taken for ANY_SOURCE, or a type of unknown width for 0 bytes.
  bool uses_mistaken_null() const { return parser_.uses_mistaken_null(); }
  bool uses_lost_type() const { return parser_.uses_lost_type(); }

 protected:
  // `owner` keeps `grammar` and `file` alive.
  RankReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar, std::int32_t rank,
             const std::string& file, CallTable& calls)
      : owner_(std::move(owner)), parser_(grammar, rank, file, calls) {
    const ComputeNoiseStream noise(grammar.compute_noise, rank);
    if (noise.is_on() || !grammar.speedups.empty()) {
      volumes_ = std::make_unique<Volumes>(Volumes{noise, {}});
    }
  }

  // `read`, with the volumes as the trace has them.
  virtual std::size_t read_next(Op* out, std::size_t capacity) = 0;

  // The second operation of a line when there was room for one: left for the next batch, taken by
  // that; the number of operations taken.
  void leave_pending(const Op& op) { pending_ = std::make_unique<Op>(op); }
  std::size_t take_pending(Op* out, std::size_t capacity) {
    if (!pending_ || capacity == 0) return 0;
    *out = *std::exchange(pending_, nullptr);
    return 1;
  }

  std::shared_ptr<const void> owner_;
  LineParser parser_;

 private:
  // What becomes of the volumes of computations. Null: they stay what they are, as in most of a
  // million readers.
  struct Volumes {
    ComputeNoiseStream noise;
    SpeedupStream speedups;
    void apply(Op* ops, std::size_t count) {
      speedups.apply(ops, count);
      if (noise.is_on()) noise.apply(ops, count);
    }
  };
  std::unique_ptr<Volumes> volumes_;
  std::unique_ptr<const Op> pending_;
};

class TextReader final : public RankReader {
 public:
  // `marked`: the file is a part of a split one. `owner` keeps `grammar` and `file` alive; `calls`
  // must outlive the reader.
  TextReader(std::shared_ptr<const void> owner, const TraceGrammar& grammar, std::int32_t rank,
             const TraceFile& file, bool marked, std::size_t buffer_size, CallTable& calls);

  std::size_t read_next(Op* out, std::size_t capacity) override;
  std::uint64_t bytes_read() const override {
    return lines_.position() - static_cast<std::uint64_t>(lines_.end() - next_);
  }

 private:
  std::size_t read_quickly(Op* out, std::size_t capacity);
  std::size_t read_line(Op* out, std::size_t capacity);

  LineBuffer lines_;
  QuickLine quick_;
  const char* next_ = nullptr;
  std::uint64_t line_ = 0;  // of the line before `next_`
  bool may_be_quick_;
  bool marked_;
};

}  // namespace tisim
