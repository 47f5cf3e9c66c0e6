// Text files that a packed trace is unpacked to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "support/progress.hpp"
#include "trace/storage/trace_file.hpp"

namespace tisim {

// Collects the text of a file until it is worth a write.
class TextFile {
 public:
  static constexpr std::size_t kBuffer = 256U << 10;

  // Throws TraceError when the file cannot be made, and in what follows when it cannot be written.
  explicit TextFile(const std::string& path) : path_(path), file_(create_file(path)) {}

  // To append a line to; end_line() follows.
  std::string& text() { return text_; }

  void end_line() {
    text_ += '\n';
    if (text_.size() >= kBuffer) flush(text_.size() - 1);
  }

  void finish(bool newline_at_end) {
    if (!newline_at_end && !text_.empty()) text_.pop_back();
    flush(text_.size());
  }

 private:
  // The last newline stays back: the file may end without it.
  void flush(std::size_t count);

  std::string path_;
  std::shared_ptr<const Descriptor> file_;
  std::string text_;
  std::uint64_t written_ = 0;
};

// Tells now and then how many of all lines have been written.
class LineProgress {
 public:
  LineProgress(std::uint64_t lines, const Progress& progress)
      : progress_(&progress), all_(static_cast<double>(lines == 0 ? 1 : lines)) {}

  void count_line() {
    if (++lines_ % kInterval == 0) tell(*progress_, static_cast<double>(lines_) / all_);
  }

 private:
  static constexpr std::uint64_t kInterval = 4096;

  const Progress* progress_;
  double all_;
  std::uint64_t lines_ = 0;
};

// The place of a file called `name` inside `directory`; directories that it needs are made. Empty
// when the name leads out of the directory. Throws TraceError.
std::string place_inside(const std::string& directory, std::string_view name);

}  // namespace tisim
