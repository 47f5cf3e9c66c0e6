// A line of a trace without its rank, in fewer bytes.
//
// A template says a line that may come again, on this rank or on another: the number of its first
// word in the file's list of words plus 1; twice the number of its arguments, plus 1 when a blank
// ends the line; the arguments, each as a zigzag number, doubled, plus 1 when it is a rank that is
// said relative to the line's own. Ranks other than 0 are said so: then the same pattern of
// messages has the same templates on every rank. What is not a word and whole numbers with a blank
// between them is 0 and the text.
//
// Named arguments (`comm=1`, `request=3`, `requests=3,4`) may follow the numbers. Then kNamed
// stands before the template, and behind it, for each of them, its name (0, 1, 2 in the order
// above), how many numbers it has, and these as zigzag numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/packed/byte_codec.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim::packed {

// The first words of lines, in the order in which they were met.
class WordList {
 public:
  WordList() : vocabulary_({}) {}

  // The number of a word, which is added when it is new; -1 when there are too many.
  int number(std::string_view word);
  // Which of the arguments behind that word are ranks: bit i for the argument i.
  unsigned rank_arguments(int number) const {
    return rank_arguments_[static_cast<std::size_t>(number)];
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  Vocabulary vocabulary_;
  std::vector<std::string> words_;
  std::vector<unsigned> rank_arguments_;
};

// The template of `line`, a line of `rank` without its rank.
std::string make_template(std::string_view line, std::int64_t rank, WordList& words);

// Appends the line of a template; false when the template is none.
bool append_line(std::string_view packed_line, std::int64_t rank,
                 const std::vector<std::string>& words, std::string& out);

// What follows the first word, the rank.
std::string_view behind_first_word(std::string_view line);

// Whether the first word is `init`, in any case.
bool is_init(std::string_view line);

}  // namespace tisim::packed
