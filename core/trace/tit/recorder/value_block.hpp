// Numbers that hardly repeat, as a recorded program makes them: in blocks, by the place in a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/tit/codec/bytes.hpp"

namespace tisim {
namespace tit {

// A shape and one of its holes, which must be below 256.
inline std::uint32_t value_site(std::uint32_t shape, std::size_t hole) {
  return shape << 8 | static_cast<std::uint32_t>(hole);
}

// Values since the last block. As bytes, each site has its least value and the bits beyond it, as
// many for each as the largest takes: fast, and small enough until the trace is written.
class ValueBuffer {
 public:
  // More values than this are no block.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  void add(std::uint32_t site, std::uint64_t value) { values_.push_back({site, value}); }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  std::size_t memory() const { return values_.capacity() * sizeof(Value); }
  // Writes a block of all values, and is empty then.
  void write(Bytes& out);

 private:
  struct Value {
    std::uint32_t site;
    std::uint64_t value;
  };

  std::vector<Value> values_;
};

// The values of all blocks by their sites. Throws FormatError.
std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> values_by_site(
    const std::vector<std::string>& blocks);

// The values of blocks, in the order in which they were added.
class ValueStream {
 public:
  // The blocks must outlive the stream.
  explicit ValueStream(const std::vector<std::string>& blocks) : blocks_(&blocks) {}

  // The next value, which must be of this site. Throws FormatError.
  std::uint64_t next(std::uint32_t site);
  // Whether all values were taken.
  bool at_end() const { return left_ == 0 && next_block_ == blocks_->size(); }

 private:
  struct Values {
    std::vector<std::uint64_t> values;
    std::size_t next = 0;
  };

  void read_block(std::string_view bytes);

  const std::vector<std::string>* blocks_;
  std::size_t next_block_ = 0;
  std::size_t left_ = 0;  // of the block at hand
  std::unordered_map<std::uint32_t, Values> sites_;
};

}  // namespace tit
}  // namespace tisim
