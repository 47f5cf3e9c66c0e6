#include "trace/storage/text_file.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "trace/error.hpp"

namespace tisim {

void TextFile::flush(std::size_t count) {
  write_at(*file_, std::string_view(text_).substr(0, count), written_, path_);
  written_ += count;
  text_.erase(0, count);
}

std::string place_inside(const std::string& directory, std::string_view name) {
  const std::filesystem::path path(name);
  const bool leads_out =
      path.is_absolute() || path.empty() ||
      std::any_of(path.begin(), path.end(),
                  [](const std::filesystem::path& part) { return part == ".."; });
  if (leads_out) return {};
  const std::filesystem::path whole = std::filesystem::path(directory) / path;
  std::error_code error;
  std::filesystem::create_directories(whole.parent_path(), error);
  if (error) throw TraceError(whole.parent_path(), 0, "cannot be made: " + error.message());
  return whole;
}

}  // namespace tisim
