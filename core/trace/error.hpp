// An error in a trace: the problem, its location and how to fix it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tisim {

// `line` is 1-based; 0 if no particular line is at fault. what() is "file:line: message".
struct TraceError : std::runtime_error {
  TraceError(std::string in_file, std::uint64_t at_line, std::string what_is_wrong)
      : std::runtime_error(place(in_file, at_line).append(": ").append(what_is_wrong)),
        file(std::move(in_file)),
        line(at_line),
        message(std::move(what_is_wrong)) {}

  std::string file;
  std::uint64_t line;
  std::string message;

 private:
  static std::string place(std::string file, std::uint64_t line) {
    if (line > 0) file.append(":").append(std::to_string(line));
    return file;
  }
};

}  // namespace tisim
