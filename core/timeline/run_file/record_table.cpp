#include "timeline/run_file/record_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "timeline/spans/span_sums.hpp"

namespace tisim {

namespace {

// Number of rows copied to columns together: few enough to stay in the first-level cache.
constexpr std::size_t kTile = 256;

std::vector<ParquetColumn> columns_of(const std::vector<RecordField>& fields) {
  std::vector<ParquetColumn> columns;
  for (const RecordField& field : fields) {
    const bool is_optional =
        field.column == RecordColumn::optional_time || field.column == RecordColumn::start;
    columns.push_back({field.name, field.type, field.meaning, is_optional});
  }
  return columns;
}

template <class Value>
RecordField field_of(const char* name, RecordColumn column, std::size_t offset) {
  constexpr bool kIsReal = std::is_floating_point_v<Value>;
  ParquetType type = kIsReal ? ParquetType::real : ParquetType::int64;
  auto meaning = ParquetMeaning::plain;
  if (column == RecordColumn::boolean) {
    type = ParquetType::boolean;
  } else if (sizeof(Value) < 8) {
    type = ParquetType::int32;
    if (std::is_same_v<Value, std::uint8_t>) meaning = ParquetMeaning::uint8;
    if (std::is_same_v<Value, std::uint16_t>) meaning = ParquetMeaning::uint16;
    if (std::is_same_v<Value, std::uint32_t>) meaning = ParquetMeaning::uint32;
  }
  return {name, column, type, meaning, offset, sizeof(Value)};
}

#define TISIM_COLUMN(Row, name, field, column) \
  field_of<decltype(Row::field)>(name, RecordColumn::column, offsetof(Row, field))

std::vector<RecordField> state_fields() {
  using R = StateRow;
  return {TISIM_COLUMN(R, "rank", rank, repeating),
          TISIM_COLUMN(R, "start", start, start),
          TISIM_COLUMN(R, "end", end, time),
          TISIM_COLUMN(R, "state", state, repeating),
          TISIM_COLUMN(R, "kind", kind, repeating),
          TISIM_COLUMN(R, "line", line, ascending),
          TISIM_COLUMN(R, "cause", cause, repeating),
          TISIM_COLUMN(R, "peer", peer, repeating),
          TISIM_COLUMN(R, "bytes", bytes, repeating),
          TISIM_COLUMN(R, "started", started, optional_time),
          TISIM_COLUMN(R, "receives", receives, boolean),
          TISIM_COLUMN(R, "by_peer", by_peer, boolean)};
}

std::vector<RecordField> action_fields() {
  using R = ActionRow;
  return {TISIM_COLUMN(R, "rank", rank, repeating),
          TISIM_COLUMN(R, "start", start, start),
          TISIM_COLUMN(R, "end", end, time),
          TISIM_COLUMN(R, "kind", kind, repeating),
          TISIM_COLUMN(R, "line", line, ascending),
          TISIM_COLUMN(R, "peer", peer, repeating),
          TISIM_COLUMN(R, "bytes", bytes, repeating),
          TISIM_COLUMN(R, "volume", volume, repeating),
          TISIM_COLUMN(R, "communicator", comm, repeating)};
}

std::vector<RecordField> message_fields() {
  using R = MessageRecord;
  return {TISIM_COLUMN(R, "source", source, repeating),
          TISIM_COLUMN(R, "destination", destination, repeating),
          TISIM_COLUMN(R, "bytes", bytes, repeating),
          TISIM_COLUMN(R, "tag", tag, repeating),
          TISIM_COLUMN(R, "collective", collective, boolean),
          TISIM_COLUMN(R, "posted", sent, optional_time),
          TISIM_COLUMN(R, "received", received, optional_time),
          TISIM_COLUMN(R, "started", started, optional_time),
          TISIM_COLUMN(R, "arrived", arrived, optional_time)};
}

#undef TISIM_COLUMN

}  // namespace

RecordTable::RecordTable(std::vector<RecordField> fields, std::size_t row_size, std::size_t rank_at,
                         std::size_t ranks)
    : fields_(std::move(fields)),
      row_size_(row_size),
      rank_at_(rank_at),
      ranks_(ranks),
      file_(columns_of(fields_)) {}

void RecordTable::add_rows(std::string_view rows) {
  if (rows.size() % row_size_ != 0) throw std::invalid_argument("rows are whole");
  const std::size_t full = kBlockRows * row_size_;
  while (!rows.empty()) {
    const std::size_t part = std::min(full - rows_.size(), rows.size());
    rows_ << rows.substr(0, part);
    rows.remove_prefix(part);
    if (rows_.size() >= full) write_block();
  }
}

void RecordTable::finish() {
  if (rows_.size() > 0) write_block();
  file_.finish();
}

void RecordTable::gather(const RecordField& field, std::size_t first, std::size_t stop,
                         Values& to) const {
  const char* from = rows_.view().data() + field.offset;
  const auto copy = [&](auto value, auto& column) {
    for (std::size_t i = first; i < stop; ++i) {
      const std::size_t row = rank_at_ == kNoRank ? i : order_[i];
      std::memcpy(&value, from + row * row_size_, sizeof value);
      column[i] = value;
    }
  };
  if (field.column >= RecordColumn::time) {
    copy(double{}, to.times);
  } else if (field.size == 8) {
    copy(std::uint64_t{}, to.wide);
  } else if (field.size == 4) {
    copy(std::uint32_t{}, to.narrow);
  } else if (field.size == 2) {
    copy(std::uint16_t{}, to.narrow);
  } else {
    copy(std::uint8_t{}, to.narrow);
  }
}

void RecordTable::write_block() {
  const std::size_t rows = rows_.size() / row_size_;
  if (rank_at_ != kNoRank) order_ = order_by_rank(rows_.view(), row_size_, rank_at_, ranks_);
  values_.resize(fields_.size());
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const bool is_time = fields_[i].column >= RecordColumn::time;
    if (is_time) values_[i].times.resize(rows);
    if (!is_time && fields_[i].size == 8) values_[i].wide.resize(rows);
    if (!is_time && fields_[i].size < 8) values_[i].narrow.resize(rows);
  }
  for (std::size_t first = 0; first < rows; first += kTile) {
    const std::size_t stop = std::min(first + kTile, rows);
    for (std::size_t i = 0; i < fields_.size(); ++i) gather(fields_[i], first, stop, values_[i]);
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) add_column(fields_[i], values_[i]);
  file_.end_block(rows);
  rows_.clear();
}

void RecordTable::add_column(const RecordField& field, const Values& values) {
  switch (field.column) {
    case RecordColumn::repeating:
      if (field.size == 8) file_.add(values.wide);
      if (field.size < 8) file_.add(values.narrow);
      break;
    case RecordColumn::ascending:
      file_.add_ascending(values.narrow);
      break;
    case RecordColumn::boolean:
      file_.add_booleans(values.narrow);
      break;
    case RecordColumn::time:
      file_.add_reals(values.times, {});
      break;
    case RecordColumn::optional_time:
      known_.resize(values.times.size());
      for (std::size_t i = 0; i < known_.size(); ++i) known_[i] = values.times[i] >= 0.0 ? 1 : 0;
      file_.add_reals(values.times, known_);
      break;
    case RecordColumn::start: {
      const std::vector<std::uint32_t>& rank = values_[0].narrow;
      const std::vector<double>& end = values_[2].times;
      known_.resize(values.times.size());
      for (std::size_t i = 0; i < known_.size(); ++i) {
        const bool follows = i > 0 && rank[i] == rank[i - 1] && values.times[i] == end[i - 1];
        known_[i] = follows ? 0 : 1;
      }
      file_.add_reals(values.times, known_);
      break;
    }
  }
}

StateTable::StateTable(std::size_t ranks)
    : table(state_fields(), sizeof(StateRow), offsetof(StateRow, rank), ranks) {}

ActionTable::ActionTable(std::size_t ranks)
    : table(action_fields(), sizeof(ActionRow), offsetof(ActionRow, rank), ranks) {}

MessageTable::MessageTable(std::size_t ranks)
    : table(message_fields(), sizeof(MessageRecord), RecordTable::kNoRank, ranks) {}

}  // namespace tisim
