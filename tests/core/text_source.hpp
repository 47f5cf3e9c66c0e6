// A file of a packed trace that is in memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "trace/tit/file/container.hpp"

namespace tisim::test {

class TextSource final : public tit::ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  std::uint64_t size() const override { return text_.size(); }
  std::string read(std::uint64_t offset, std::uint64_t size) const override {
    return offset >= text_.size() ? "" : text_.substr(offset, size);
  }

 private:
  std::string text_;
};

}  // namespace tisim::test
