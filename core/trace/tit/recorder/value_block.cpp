#include "trace/tit/recorder/value_block.hpp"

#include <algorithm>

namespace tisim {
namespace tit {
namespace {

constexpr unsigned kMostBits = 64;

// Appends the low bits of numbers, the lowest first.
class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {}
  void put(std::uint64_t value, unsigned bits) {
    for (; bits > 0;) {
      const unsigned taken = std::min(bits, 8 - filled_);
      current_ |= static_cast<std::uint32_t>(value & ((1U << taken) - 1)) << filled_;
      filled_ += taken;
      bits -= taken;
      value >>= taken;
      if (filled_ == 8) flush();
    }
  }
  void flush() {
    if (filled_ > 0) out_.byte(static_cast<std::uint8_t>(current_));
    current_ = filled_ = 0;
  }

 private:
  Bytes& out_;
  std::uint32_t current_ = 0;
  unsigned filled_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : in_(bytes) {}
  std::uint64_t take(unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned done = 0; done < bits;) {
      if (left_ == 0) {
        current_ = in_.byte();
        left_ = 8;
      }
      const unsigned taken = std::min(bits - done, left_);
      value |= static_cast<std::uint64_t>(current_ & ((1U << taken) - 1)) << done;
      current_ >>= taken;
      left_ -= taken;
      done += taken;
    }
    return value;
  }

 private:
  ByteReader in_;
  std::uint32_t current_ = 0;
  unsigned left_ = 0;
};

// Calls `take(site, value)` for each value of a block; how many there are.
template <class Take>
std::size_t take_block(std::string_view bytes, const Take& take) {
  ByteReader in(bytes);
  const auto count = static_cast<std::size_t>(in.at_most(ValueBuffer::kMost, "a number of values"));
  std::uint64_t site = 0;
  for (std::size_t left = count; left > 0;) {
    site += in.varint();
    const std::uint64_t of_site = in.at_most(left, "a number of values");
    const std::uint64_t least = in.varint();
    const std::uint8_t bits = in.byte();
    if (of_site == 0 || bits > kMostBits || site > 0xffffffffu) {
      throw FormatError("a block of values is damaged");
    }
    BitReader packed(in.bytes((of_site * bits + 7) / 8));
    for (std::uint64_t i = 0; i < of_site; ++i) {
      take(static_cast<std::uint32_t>(site), least + packed.take(bits));
    }
    left -= static_cast<std::size_t>(of_site);
  }
  if (!in.at_end()) throw FormatError("a block of values is damaged");
  return count;
}

}  // namespace

void ValueBuffer::write(Bytes& out) {
  std::stable_sort(values_.begin(), values_.end(),
                   [](const Value& a, const Value& b) { return a.site < b.site; });
  out.varint(values_.size());
  std::uint32_t last = 0;
  for (auto begin = values_.begin(); begin != values_.end();) {
    auto end = begin;
    std::uint64_t least = begin->value, largest = least;
    for (; end != values_.end() && end->site == begin->site; ++end) {
      least = std::min(least, end->value);
      largest = std::max(largest, end->value);
    }
    unsigned bits = 0;
    while (bits < kMostBits && (largest - least) >> bits != 0) ++bits;
    out.varint(begin->site - last);
    out.varint(static_cast<std::uint64_t>(end - begin));
    out.varint(least);
    out.byte(static_cast<std::uint8_t>(bits));
    last = begin->site;
    BitWriter packed(out);
    for (; begin != end; ++begin) packed.put(begin->value - least, bits);
    packed.flush();
  }
  values_.clear();
}

void ValueStream::read_block(std::string_view bytes) {
  sites_.clear();
  left_ = take_block(bytes, [this](std::uint32_t site, std::uint64_t value) {
    sites_[site].values.push_back(value);
  });
}

std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> values_by_site(
    const std::vector<std::string>& blocks) {
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> sites;
  for (const std::string& block : blocks) {
    take_block(block,
               [&sites](std::uint32_t site, std::uint64_t value) { sites[site].push_back(value); });
  }
  return sites;
}

std::uint64_t ValueStream::next(std::uint32_t site) {
  while (left_ == 0) {
    if (next_block_ == blocks_->size()) throw FormatError("there are fewer values than calls");
    read_block((*blocks_)[next_block_++]);
  }
  const auto found = sites_.find(site);
  if (found == sites_.end() || found->second.next == found->second.values.size()) {
    throw FormatError("a value is of another call");
  }
  --left_;
  return found->second.values[found->second.next++];
}

}  // namespace tit
}  // namespace tisim
