// The tables of records in a run file: states, actions and messages, in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/formats/rows.hpp"
#include "timeline/run_file/parquet_file.hpp"
#include "timeline/states.hpp"

namespace tisim {

// Rows per block. A time window of a picture reads whole blocks.
inline constexpr std::size_t kBlockRows = 1 << 17;

// How a field of a row is stored.
enum class RecordColumn : std::uint8_t {
  repeating,  // a number with few distinct values
  ascending,
  boolean,
  time,           // of an event that always happens
  optional_time,  // kNoTime if the event never happened
  start,          // missing if the row begins when the previous one of the same rank ends
};

struct RecordField {
  const char* name;
  RecordColumn column;
  ParquetType type;
  ParquetMeaning meaning;
  std::size_t offset, size;  // bytes in a row
};

// Collects rows and writes a block when it is full, sorted by rank if rows have one.
class RecordTable {
 public:
  static constexpr std::size_t kNoRank = static_cast<std::size_t>(-1);

  // `rank_at`: offset of the rank in a row; the first fields are then its rank, start and end, and
  // rows of one rank come in the order of their ends.
  RecordTable(std::vector<RecordField> fields, std::size_t row_size, std::size_t rank_at,
              std::size_t ranks);

  template <class Row>
  void add(const Row& row) {
    rows_.raw(row);
    if (rows_.size() >= kBlockRows * row_size_) write_block();
  }
  // Rows as bytes. Throws std::out_of_range if a block contains an unknown rank.
  void add_rows(std::string_view rows);
  // Call when no row follows.
  void finish();

  std::size_t ranks() const { return ranks_; }
  std::size_t rows() const { return file_.rows() + rows_.size() / row_size_; }
  std::string_view written() const { return file_.written(); }
  void clear() { file_.clear(); }

 private:
  // A column of the current block.
  struct Values {
    std::vector<std::uint32_t> narrow;
    std::vector<std::uint64_t> wide;
    std::vector<double> times;
  };

  void write_block();
  // Copies a field of the rows from `first` to before `stop`, in order.
  void gather(const RecordField& field, std::size_t first, std::size_t stop, Values& to) const;
  void add_column(const RecordField& field, const Values& values);

  std::vector<RecordField> fields_;
  std::size_t row_size_, rank_at_, ranks_;
  ParquetFile file_;
  Text rows_;
  std::vector<std::uint32_t> order_;
  std::vector<Values> values_;  // by field
  std::vector<std::uint32_t> known_;
};

class StateTable : public StateSink {
 public:
  explicit StateTable(std::size_t ranks);
  std::size_t ranks() const override { return table.ranks(); }
  void row(const StateRow& row) override { table.add(row); }

  RecordTable table;
};

class ActionTable : public Listener {
 public:
  explicit ActionTable(std::size_t ranks);
  std::size_t ranks() const override { return table.ranks(); }
  void end(const OpenAction& action) override {
    if (action.start.level == 0) table.add(action_row(action));
  }

  RecordTable table;
};

class MessageTable : public Listener {
 public:
  explicit MessageTable(std::size_t ranks);
  void received(const MessageRecord& message, const OpenAction* /*action*/) override {
    table.add(message);
  }
  void lost(const MessageRecord& message) override { table.add(message); }

  RecordTable table;
};

}  // namespace tisim
