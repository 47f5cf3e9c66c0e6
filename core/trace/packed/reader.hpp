// The operations of one rank of a packed trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support/stack.hpp"
#include "trace/grammar/line_parser.hpp"
#include "trace/packed/call_plans.hpp"
#include "trace/packed/column_stream.hpp"
#include "trace/packed/file.hpp"
#include "trace/reader.hpp"

namespace tisim {

// Follows the grammar of the rank's class with a cursor; nothing is expanded.
class PackedReader final : public RankReader {
 public:
  // Largest line number of an operation; later lines count as this one.
  static constexpr std::uint64_t kMaxLines = std::numeric_limits<std::uint32_t>::max();

  // `owner` keeps `grammar` and `file` alive; `calls` must outlive the reader.
  PackedReader(const std::shared_ptr<const void>& owner, const TraceGrammar& grammar,
               std::int32_t rank, const PackedFile& file, CallTable& calls);
  ~PackedReader() override;

  std::size_t read(Op* out, std::size_t capacity) override;
  // Returns false for a rank with values in a column: they are read one after the other.
  bool stop_at_loops() override;
  void set_stops_at_turns(bool stops) override {
    if (loop_) loop_->stops = stops;
  }
  std::optional<LoopTurn> next_turn() override;
  void skip_repetitions(std::uint64_t count) override;
  void save_memory() override { saves_memory_ = true; }
  std::uint64_t bytes_read() const override {
    return calls_begun_ - static_cast<std::uint64_t>(end_ - at_);
  }
  std::string file() const override { return shared_->file().display_name(rank_); }
  bool uses_mistaken_null() const override;
  bool uses_lost_type() const override;

 private:
  struct Frame {
    std::uint32_t rule;
    std::uint32_t segment;    // index of the next one
    std::uint32_t remaining;  // uses of the rule, including the current one
  };
  // Number of operations without column volumes that are written at once, if batches are smaller
  // and there are not too many ranks.
  static constexpr std::uint32_t kBatch = 64;
  static constexpr std::int32_t kMaxBatchedRanks = 16384;  // ranks

  // Cached operations of a call that is not plain, on this rank.
  struct Cached {
    static constexpr std::size_t kMaxOps = 2;  // calls with more are not cached

    Op ops[kMaxOps];
    std::uint64_t step = 1;
    std::int8_t count = -1;  // -1: not produced yet
  };
  // Operations that did not fit in a batch.
  struct OverflowOps {
    // A call produces at most a preceding computation and the operations of its line.
    static constexpr std::uint32_t kMinCapacity = 1 + LineParser::kMaxOps;

    explicit OverflowOps(std::uint32_t size) : ops(std::make_unique<Op[]>(size)), capacity(size) {}

    std::unique_ptr<Op[]> ops;
    std::uint32_t capacity;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  // The outermost long loop around the cursor, at whose turns read() stops.
  struct Loop {
    bool stops = true;  // read() stops at turns
    bool inside = false;
    bool is_stretch = false;  // a stretch is repeated; else a rule
    bool reported = false;    // the turn at the cursor has been reported
    std::uint32_t depth = 0;  // frames in use in the loop
    std::uint64_t line = 0;   // lines and calls at the turn before the cursor
    std::uint64_t calls = 0;
    std::uint64_t lines_of_last = 0;  // in the last repetition
    std::uint64_t calls_of_last = 0;
  };

  // The current stretch starts again, without a stop of read().
  bool repeats_without_stop() const {
    return !loop_->stops && !loop_->reported && loop_->inside && loop_->is_stretch && repeats_ > 0;
  }
  bool pass_turns(bool may_pass) { return !loop_ || repeats_without_stop() || pass_turn(may_pass); }
  bool has_overflow() const { return overflow_ && overflow_->count > 0; }
  std::size_t take_overflow(Op* out, std::size_t capacity) {
    if (!has_overflow()) return 0;
    OverflowOps& overflow = *overflow_;
    const auto taken =
        static_cast<std::uint32_t>(std::min(capacity, static_cast<std::size_t>(overflow.count)));
    std::copy_n(overflow.ops.get() + overflow.first, taken, out);
    overflow.first += taken;
    overflow.count -= taken;
    return taken;
  }
  OverflowOps& overflow_buffer(std::uint32_t least);
  // Number of calls whose volumes are read at once.
  std::uint32_t max_ahead() const { return saves_memory_ ? 8 : ColumnStream::kMaxAhead; }
  bool next_stretch();
  std::optional<std::uint64_t> repetitions_at_turn();
  bool pass_turn(bool may_pass);
  std::size_t read_stretch(Op* out, std::size_t capacity);
  std::size_t put_plain(Op* out, std::size_t capacity);
  std::size_t put_prepared(Op* out, std::size_t capacity);
  std::size_t put_cached(Op* out, const Op* last);
  std::size_t read_with_volumes(Op* out, std::size_t capacity);
  std::uint32_t put_calls_ahead(Op* out);
  template <class AmountOf, class PutCall>
  std::uint32_t put_with(Op* out, const AmountOf& amount_of, const PutCall& put_call);
  void keep_prepared(std::uint32_t call, const Op& op);
  bool allocate_prepared();
  void prepare_plain_calls();
  std::size_t read_call(Op* out, std::size_t capacity);
  std::size_t make(std::uint32_t call, const CallPlan& plan, std::uint32_t site, Op* ops);
  std::size_t make_cached(std::uint32_t call, const CallPlan& plan, Op* ops);
  std::size_t make_from(std::uint32_t call, const CallPlan& plan, Op* ops, std::uint64_t& step);
  std::size_t parse(std::uint32_t call, Op* ops, std::uint64_t step);
  std::uint64_t volume_at(std::uint32_t site);
  std::uint64_t value_at(std::uint32_t site);
  bool at_last_call() const;
  void switch_to(CallPlans& plans);
  std::size_t put(const Op* ops, std::size_t count, Op* out, std::size_t capacity);

  SharedCallPlans* shared_;
  CallPlans* plans_;
  const ProgramCall* at_ = nullptr;   // the next call of the current stretch
  const ProgramCall* end_ = nullptr;  // of the stretch
  std::uint32_t repeats_ = 0;         // remaining repetitions of the stretch
  std::uint32_t depth_ = 0;           // frames in use
  std::unique_ptr<Frame[]> frames_;
  std::unique_ptr<ColumnStream> column_;
  Stack<Cached> cached_;        // by CallPlan::details, as far as known
  std::unique_ptr<Loop> loop_;  // nullptr: read() does not stop at loops
  std::unique_ptr<OverflowOps> overflow_;
  // By call: the operation of a call that never varies; its line is 0 while it is unknown.
  // Initially null.
  std::unique_ptr<Op[]> prepared_;
  std::uint64_t line_ = 0;
  std::uint64_t calls_begun_ = 0;  // up to the end of the current stretch
  std::int32_t rank_;
  std::uint32_t position_;
  std::uint32_t before_ = 0;  // kind of the previous call plus 1
  bool has_volumes_;
  bool double_default_ = false;
  bool mistaken_null_ = false;
  bool lost_type_ = false;
  bool saves_memory_ = false;  // does not cache operations of calls that differ between ranks
};
static_assert(sizeof(PackedReader) <= 200);  // there may be a million of them

}  // namespace tisim
