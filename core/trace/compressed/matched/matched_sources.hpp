// Receives from any source become receives from whom they matched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trace/compressed/attributes.hpp"
#include "trace/reader.hpp"

namespace tisim {

// The attribute of a receive from any source that says whom it matched.
constexpr std::string_view kMatchedAttribute = "matched";

// Decorates the reader of a rank of a packed trace. A receive without that attribute, a probe that
// found nothing and a persistent receive stay as they are.
class MatchedSourcesReader final : public RankReader {
 public:
  // `file`, which must have the attribute, must outlive the reader.
  MatchedSourcesReader(std::unique_ptr<RankReader> reader, const CompressedFile& file,
                       std::int32_t rank);

  std::size_t read(Op* out, std::size_t capacity) override;
  // Only where each call matches the same rank each time, of what its attribute says.
  bool stop_at_loops() override;
  void heed_turns(bool heeds) override { reader_->heed_turns(heeds); }
  std::optional<LoopTurn> next_turn() override { return reader_->next_turn(); }
  void skip_repetitions(std::uint64_t count) override { reader_->skip_repetitions(count); }
  std::uint64_t bytes_read() const override { return reader_->bytes_read(); }
  std::string file() const override { return reader_->file(); }
  bool uses_mistaken_null() const override { return reader_->uses_mistaken_null(); }
  bool uses_lost_type() const override { return reader_->uses_lost_type(); }

 private:
  // Whom the receive of a line matched; kAnySource when nothing is known.
  std::int32_t source_of(std::uint32_t line);

  std::unique_ptr<RankReader> reader_;
  const CompressedFile& file_;
  std::int32_t rank_;
  AttributeWalk walk_;
  std::uint32_t attribute_;
  bool is_at_line_ = true;  // the walk has not ended
};

}  // namespace tisim
