#include "trace/packed/column_stream.hpp"

#include <algorithm>
#include <cstring>

#include "trace/tit/codec/bytes.hpp"

namespace tisim {

namespace {

// Words are rare if fewer than one in this many values consumes one.
constexpr std::uint64_t kFewWords = 32;

}  // namespace

ColumnStream::ColumnStream(const PackedFile& file, ColumnLocation column)
    : file_(&file), offset_(column.offset), column_(column.column) {
  if (column_ == nullptr) return;
  for (const tit::Block& block : column_->blocks) capacity_ = std::max(capacity_, block.bytes);
}

void ColumnStream::read_ahead(const ProgramCall* calls, std::uint32_t count,
                              std::uint32_t first_site) {
  ahead_begin_ = 0;
  const tit::DecoderState& state = decoder_.state();
  const auto words = static_cast<std::size_t>(state.end - state.at) / sizeof(std::uint32_t);
  std::uint32_t made = 0;
  if (words < count || values_left_ < count) {
    made = read_values<Words::may_end>(calls, count, first_site);
  } else if (words < values_left_ / kFewWords) {
    made = read_values<Words::rarely>(calls, count, first_site);
  } else {
    made = read_values<Words::often>(calls, count, first_site);
  }
  ahead_end_ = static_cast<std::uint8_t>(made);
}

template <ColumnStream::Words kWords>
std::uint32_t ColumnStream::read_values(const ProgramCall* calls, std::uint32_t count,
                                        std::uint32_t first_site) {
  return file_->volume_sites().may_exceed() ? read_values<kWords, true>(calls, count, first_site)
                                            : read_values<kWords, false>(calls, count, first_site);
}

// `kMayExceed`: damaged files may have values that are not volumes.
template <ColumnStream::Words kWords, bool kMayExceed>
std::uint32_t ColumnStream::read_values(const ProgramCall* calls, std::uint32_t count,
                                        std::uint32_t first_site) {
  const tit::VolumeSite* const sites = file_->volume_sites().data();
  std::uint32_t* const into = ahead_values_;
  const double* const amounts = file_->volume_sites().amounts();
  tit::DecoderState& state = decoder_.state();
  std::uint64_t first = state.states[0];
  std::uint64_t second = state.states[1];
  std::uint64_t third = state.states[2];
  std::uint64_t fourth = state.states[3];
  const char* at = state.at;
  const char* const end = state.end;
  std::size_t number = first_site;
  std::size_t made = 0;
  std::size_t fixed = 0;  // how many of these belong to sites that do not vary
  std::uint32_t largest = 0;
  // Stores the next value of the column, preceded by constant ones; returns false at the end.
  const auto put_value = [&](std::uint64_t & turn) __attribute__((always_inline)) {
    while (made != count) {
      const tit::VolumeSite& site = sites[number];
      const tit::BinChoice* const choices = site.choices;
      std::uint32_t value = 0;
      if (choices != nullptr) {
        if (kWords == Words::may_end && made - fixed == values_left_) return false;
        value =
            tit::DecoderState::take_small<kWords>(site.limits, choices, site.shift, turn, at, end);
      } else {
        if (number == tit::VolumeSites::kSpecial) return false;
        value = site.value;
        ++fixed;
      }
      if (kMayExceed) {
        largest = std::max(largest, value);
        __builtin_prefetch(amounts + value);  // amounts are many, and this one is needed soon
      }
      into[made] = value;
      number = calls[++made].volume_site;
      if (choices != nullptr) return true;
    }
    return false;
  };
  unsigned turn = 0;
  for (;;) {
    if (!put_value(first)) break;
    turn = 1;
    if (!put_value(second)) break;
    turn = 2;
    if (!put_value(third)) break;
    turn = 3;
    if (!put_value(fourth)) break;
    turn = 0;
  }
  const std::uint64_t states[] = {first, second, third, fourth};
  for (unsigned i = 0; i < tit::kStates; ++i) {
    state.states[i] = states[(turn + i) % tit::kStates];
  }
  state.at = at;
  values_left_ -= made - fixed;
  if (kMayExceed && largest >= file_->volume_sites().known()) file_->damaged("a volume is invalid");
  return static_cast<std::uint32_t>(made);
}

void ColumnStream::next_block() {
  if (block_ > 0 && !decoder_.finished()) file_->damaged("a block of values is too long");
  if (column_ == nullptr || block_ == column_->blocks.size()) {
    file_->damaged("the column of a rank ends too early");
  }
  const tit::Block& block = column_->blocks[block_++];
  if (!buffer_) buffer_ = std::make_unique<char[]>(capacity_);
  if (file_->file().read(offset_, buffer_.get(), block.bytes) != block.bytes ||
      tit::crc32c(buffer_.get(), block.bytes) != block.checksum) {
    file_->damaged("a block of values has a wrong checksum");
  }
  if (block.values == 0) file_->damaged("a block has no values");
  offset_ += block.bytes;
  values_left_ = block.values;
  try {
    decoder_.start(buffer_.get(), buffer_.get() + block.bytes);
  } catch (const tit::FormatError& error) {
    file_->damaged(error.what());
  }
}

}  // namespace tisim
