#include "trace/inspect/call_sites.hpp"

#include <optional>

#include "trace/packed/attributes.hpp"

namespace tisim {

namespace {

// The paths of the calls of one class.
class ClassPaths {
 public:
  ClassPaths(const PackedFile& file, std::uint32_t rank_class)
      : file_(file), attributes_(file.attributes()), class_(rank_class) {
    if (attributes_ != nullptr) site_ = attributes_->number_of(kCallSiteAttribute);
  }

  std::string_view of(std::uint32_t call) const {
    if (!site_) return {};
    const tit::AttributeTables& tables = attributes_->tables();
    for (const tit::CallAttributes::Fixed& fixed : tables.of_call(class_, call).fixed) {
      if (fixed.attribute != *site_ || fixed.argument.mode != tit::Mode::constant) continue;
      const auto number = static_cast<std::uint64_t>(fixed.argument.value);
      if (tables.attributes[*site_].kind != tit::AttributeKind::text) return {};
      if (number >= tables.texts.size()) {
        file_.damaged("a text that an attribute names is not there");
      }
      return tables.texts[static_cast<std::size_t>(number)];
    }
    return {};
  }

 private:
  const PackedFile& file_;
  const PackedAttributes* attributes_;
  std::uint32_t class_;
  std::optional<std::uint32_t> site_;
};

}  // namespace

CallSites::CallSites(const PackedFile& file) {
  const tit::TraceTables& tables = file.tables();
  std::map<std::pair<std::uint32_t, std::string_view>, std::size_t> known;
  for (std::uint32_t i = 0; i < tables.classes.size(); ++i) {
    const ClassPaths paths(file, i);
    numbers_.emplace_back();
    const std::vector<std::uint32_t>& signatures = tables.classes[i].signatures;
    for (std::uint32_t call = 0; call < signatures.size(); ++call) {
      const std::pair<std::uint32_t, std::string_view> site{tables.kinds[signatures[call]],
                                                            paths.of(call)};
      const auto made = known.emplace(site, sites_.size());
      if (made.second) sites_.push_back(site);
      numbers_.back().push_back(made.first->second);
    }
  }
}

}  // namespace tisim
