// The distinct lines of one rank, and a prediction of the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tisim {

// Lines are numbered from 0 in order of first use.
class KnownLines {
 public:
  KnownLines() : slots_(kMinSlots, 0), followers_(kFollowers, 0), characters_(kPadding, '\0') {}

  // Returns the number of a line without its newline, and makes it the previous line.
  std::uint32_t number(std::string_view text, bool& is_new) {
    const std::uint32_t guess = followers_[place_of_followers()];
    const std::uint32_t line =
        guess != 0 && has_text(guess - 1, text) ? guess - 1 : find(text, is_new);
    follow(line);
    return line;
  }

  // The same for the line at `p`, if it is the one that followed the same previous lines last time;
  // moves `p` past its newline. Returns false without effect if it is not, or if too little text is
  // left before `end` to compare at once.
  bool pass_next(const char*& p, const char* end, std::uint32_t& number) {
    const std::uint32_t guess = followers_[place_of_followers()];
    if (guess == 0) return false;
    const Text& text = texts_[guess - 1];
    const std::size_t size = text.size + std::size_t{1};
    if (static_cast<std::size_t>(end - p) < size + kPadding) return false;
    const char* const known = characters_.data() + text.offset;
    std::size_t at = 0;
    for (; at + kPadding < size; at += kPadding) {
      if (word_at(known + at) != word_at(p + at)) return false;
    }
    const std::uint64_t difference = word_at(known + at) ^ word_at(p + at);
    if (low_bytes(difference, size - at) != 0) return false;
    p += size;
    number = guess - 1;
    follow(number);
    return true;
  }

  std::size_t size() const { return texts_.size(); }
  std::string_view text(std::uint32_t number) const {
    return {characters_.data() + texts_[number].offset, texts_[number].size};
  }

 private:
  struct Text {
    std::size_t offset;
    std::uint32_t size;
  };
  static constexpr std::size_t kMinSlots = 256;
  // An eight-byte word can be read at every byte of a line.
  static constexpr std::size_t kPadding = sizeof(std::uint64_t);
  static constexpr unsigned kFollowersBits = 11;
  static constexpr std::size_t kFollowers = std::size_t{1} << kFollowersBits;
  static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15U;

  static std::uint64_t word_at(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
  }
  // The first 1 to 8 bytes of a word in memory.
  static std::uint64_t low_bytes(std::uint64_t word, std::size_t count) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return word >> (64 - 8 * count);
#else
    return word << (64 - 8 * count);
#endif
  }

  static std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = text.size() * kMultiplier;
    const char* p = text.data();
    std::size_t left = text.size();
    const auto take = [&](std::size_t size) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, size);
      hash = (hash ^ word) * kMultiplier;
      hash ^= hash >> 32;
    };
    for (; left > 8; left -= 8, p += 8) take(8);
    take(left);
    return hash;
  }

  // The previous lines are in the upper bits, the most recent one highest.
  std::size_t place_of_followers() const {
    return static_cast<std::size_t>((before_ * kMultiplier) >> (64 - kFollowersBits));
  }
  void follow(std::uint32_t number) {
    followers_[place_of_followers()] = number + 1;
    constexpr unsigned kBitsPerLine = 21;  // room for three previous lines
    before_ = (before_ << kBitsPerLine) + number + 1;
  }

  bool has_text(std::uint32_t number, std::string_view text) const {
    return texts_[number].size == text.size() &&
           std::memcmp(characters_.data() + texts_[number].offset, text.data(), text.size()) == 0;
  }

  std::uint32_t find(std::string_view text, bool& is_new) {
    const std::uint64_t hash = hash_of(text);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      const std::uint32_t number = slots_[at] - 1;
      if (hashes_[number] == hash && has_text(number, text)) return number;
    }
    is_new = true;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back({characters_.size() - kPadding, static_cast<std::uint32_t>(text.size())});
    hashes_.push_back(hash);
    characters_.resize(characters_.size() - kPadding);
    characters_.append(text);
    characters_ += '\n';
    characters_.append(kPadding, '\0');
    slots_[at] = number + 1;
    if (2 * texts_.size() > slots_.size()) grow();
    return number;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
      std::size_t at = hashes_[number] & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = number + 1;
    }
  }

  std::vector<Text> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;  // a hash table: the number of a line plus 1, or 0
  // By previous lines: the number plus 1 of the line that last followed them, or 0.
  std::vector<std::uint32_t> followers_;
  std::uint64_t before_ = 0;
  // Each line with a newline, and kPadding bytes after the last.
  std::string characters_;
};

}  // namespace tisim
