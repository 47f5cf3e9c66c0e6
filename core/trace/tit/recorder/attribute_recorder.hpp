// The attributes of the calls that one rank makes, as a recorder is told them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tit/file/attributes.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/value_block.hpp"

namespace tisim {
namespace tit {

// Values of fixed attributes become a part of their call. The others wait in the order of their
// calls until all before them are known, and go into blocks then.
class AttributeRecorder {
 public:
  static constexpr std::int64_t kRefused = -1;

  // `log` must outlive it. A block has at most `most_values` values.
  AttributeRecorder(PartLog& log, std::uint32_t rank, std::size_t most_values)
      : log_(log), rank_(rank), most_values_(most_values) {}

  // The number of an attribute, which is declared once; kRefused when there are too many, or when
  // it was declared as another kind.
  std::int64_t declare(const Attribute& attribute);
  std::size_t declared() const { return streams_.size(); }
  bool is_fixed(std::uint32_t attribute) const { return streams_[attribute].is_fixed; }
  // The number of a text, or kRefused when texts take too much memory.
  std::int64_t text(const std::string& text);
  bool is_text(std::uint32_t attribute) const {
    return streams_[attribute].kind == AttributeKind::text;
  }
  bool has_text(std::int64_t number) const {
    return number >= 0 && static_cast<std::size_t>(number) < texts_.size();
  }

  // The next call has this value, or one that is not known yet and must not be of a fixed
  // attribute: then it gets a ticket.
  void set(std::uint32_t attribute, std::int64_t value);
  std::int64_t set_later(std::uint32_t attribute);
  // The value of a ticket; false when there is no such ticket.
  bool tell(std::int64_t ticket, std::int64_t value);

  // Whether the next call has attributes, and which: values of fixed ones follow `numbers`.
  bool has_next() const { return !next_.empty(); }
  void take_next(std::vector<std::uint32_t>& fixed, std::vector<std::uint32_t>& streamed,
                 std::vector<std::int64_t>& numbers);

  // Puts the values that are known into the log. At the end, the others never will be.
  void write();
  void end();

  std::size_t memory() const;

 private:
  // Values that wait behind one that is not known yet are at most so many.
  static constexpr std::size_t kMostWaiting = 65536;

  struct Waiting {
    bool is_known = false;
    std::uint64_t code = 0;
  };
  struct Stream {
    std::string name;
    AttributeKind kind;
    bool is_fixed;
    std::uint64_t first;  // number of the first that waits
    std::deque<Waiting> waiting;
  };
  struct Next {
    std::uint32_t attribute;
    bool is_known;
    std::int64_t value;
  };

  void put(const Next& next);
  void pass_on(std::uint32_t attribute);
  Next& next_of(std::uint32_t attribute);

  PartLog& log_;
  std::uint32_t rank_;
  std::size_t most_values_;
  std::vector<Stream> streams_;  // of each attribute
  std::vector<Next> next_;       // of the next call, ascending
  ValueBuffer values_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::size_t text_bytes_ = 0;
};

}  // namespace tit
}  // namespace tisim
