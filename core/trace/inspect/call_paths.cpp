#include "trace/inspect/call_paths.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "trace/inspect/class_counter.hpp"
#include "trace/packed/attributes.hpp"
#include "trace/tit/file/shape.hpp"

namespace tisim {
namespace {

constexpr std::string_view kModuleComment = "# module: ";

}  // namespace

void CallPathCounter::take(std::uint32_t rank_class, const ClassCounter& counter) {
  const PackedAttributes* const attributes = file_.attributes();
  if (attributes == nullptr) return;
  const std::optional<std::uint32_t> call_site = attributes->number_of(kCallSiteAttribute);
  if (!call_site) return;
  const tit::AttributeTables& tables = attributes->tables();
  const std::vector<std::int32_t>& ranks = file_.ranks_of(rank_class);
  auto vector = tables.classes[rank_class].vectors.begin();
  const std::size_t calls = file_.tables().classes[rank_class].signatures.size();
  for (std::uint32_t call = 0; call < calls; ++call) {
    for (const auto& [attribute, argument] : tables.of_call(rank_class, call).fixed) {
      const bool is_by_rank = argument.mode == tit::Mode::by_rank;
      if (attribute != *call_site) {
        if (is_by_rank) ++vector;
        continue;
      }
      const std::uint64_t times = counter.times(call);
      const std::string& action = counter.action(call);
      if (!is_by_rank) {
        calls_[{argument.value, action}] += times * ranks.size();
        continue;
      }
      for (const std::int64_t path : (vector++)->all(ranks)) calls_[{path, action}] += times;
    }
  }
}

std::vector<CallPathSummary> CallPathCounter::summaries() const {
  std::vector<CallPathSummary> summaries;
  for (const auto& [call, calls] : calls_) {
    const auto path = static_cast<std::size_t>(call.first);
    const std::vector<std::string>& texts = file_.attributes()->tables().texts;
    if (path >= texts.size()) file_.damaged("a text of an attribute is missing");
    summaries.push_back({texts[path], call.second, calls});
  }
  return summaries;
}

std::vector<std::string> module_comments(const tit::TraceTables& tables) {
  std::vector<std::string> comments;
  for (const tit::Shape& shape : tables.shapes) {
    const std::size_t start = shape.text.find(kModuleComment);
    if (start <= 1) comments.push_back(shape.text.substr(start));  // possibly after a mark
  }
  return comments;
}

}  // namespace tisim
