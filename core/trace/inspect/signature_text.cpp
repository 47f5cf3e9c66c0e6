#include "trace/inspect/signature_text.hpp"

#include <string_view>

#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/volume_code.hpp"

namespace tisim {

namespace {

constexpr std::string_view kByRank = "<by rank>";
constexpr std::string_view kPeer = "<peer>";
constexpr std::string_view kColumn = "*";

void append_relative(std::int64_t value, std::string& out) {
  out += "rank";
  if (value > 0) out += '+';
  if (value != 0) out += std::to_string(value);
}

void append_argument(const tit::Argument& argument, tit::Mark mark, std::string& out) {
  switch (argument.mode) {
    case tit::Mode::constant:
      if (mark == tit::kVolumeMark) {
        tit::append_volume(static_cast<std::uint64_t>(argument.value), out);
      } else {
        out += std::to_string(argument.value);
      }
      break;
    case tit::Mode::relative:
      append_relative(argument.value, out);
      break;
    case tit::Mode::exclusive:
      out.append("rank^").append(std::to_string(argument.value));
      break;
    case tit::Mode::by_rank:
      out += kByRank;
      break;
    case tit::Mode::column:
      out += kColumn;
      break;
  }
}

void append_site_argument(const tit::Shape& shape, std::size_t hole, const tit::Argument& argument,
                          std::string& out) {
  const bool varies = argument.mode == tit::Mode::column;
  if (shape.is_rank(hole) && !varies) {
    out += kPeer;
  } else if (shape.holes[hole].mark == tit::kVolumeMark) {
    out += kColumn;
  } else {
    append_argument(argument, shape.holes[hole].mark, out);
  }
}

// The text of a shape; `append(hole, text)` writes what stands in a hole.
template <class Append>
std::string filled(const tit::Shape& shape, Append append) {
  std::string out;
  std::size_t hole = 0;
  for (std::size_t i = 0; i < shape.text.size(); ++i) {
    const char c = shape.text[i];
    if (c < 0 || c >= tit::kFirstPlain) {
      out += c;
      continue;
    }
    switch (c) {
      case tit::kLiteralMark:
        out += shape.text[++i];
        break;
      case tit::kPaddedMark:
        ++i;
        append(hole++, out);
        break;
      case tit::kNumberMark:
      case tit::kVolumeMark:
        append(hole++, out);
        break;
      case tit::kStepMark:
        ++hole;
        break;
      default:
        break;
    }
  }
  return out;
}

}  // namespace

std::string signature_text(const tit::TraceTables& tables, std::uint32_t signature) {
  const tit::Signature& said = tables.signatures[signature];
  const tit::Shape& shape = tables.shapes[said.shape];
  return filled(shape, [&](std::size_t hole, std::string& out) {
    append_argument(said.arguments[hole], shape.holes[hole].mark, out);
  });
}

std::string site_text(const tit::TraceTables& tables, std::uint32_t signature) {
  const tit::Signature& said = tables.signatures[signature];
  const tit::Shape& shape = tables.shapes[said.shape];
  return filled(shape, [&](std::size_t hole, std::string& out) {
    append_site_argument(shape, hole, said.arguments[hole], out);
  });
}

}  // namespace tisim
