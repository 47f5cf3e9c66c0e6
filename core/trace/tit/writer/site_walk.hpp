// Walks over the values of a rank with the site of each.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/tit/file/tables.hpp"
#include "trace/tit/grammar/expansion.hpp"

namespace tisim {
namespace tit {

class SiteWalk {
 public:
  explicit SiteWalk(const TraceTables& tables) : tables_(tables), arguments_(tables.kinds_count) {
    for (std::size_t i = 0; i < tables.signatures.size(); ++i) {
      std::vector<bool>& of_kind = arguments_[tables.kinds[i]];
      const Signature& signature = tables.signatures[i];
      of_kind.clear();
      for (std::size_t k = 0; k < signature.arguments.size(); ++k) {
        if (signature.arguments[k].mode != Mode::column) continue;
        const Shape& shape = tables.shapes[signature.shape];
        of_kind.push_back(shape.holes[k].mark == kVolumeMark);
      }
    }
  }

  // Calls `take(before, at, place, is_volume)` for each value: kinds of the calls before (plus 1)
  // and at it, and its place in the context.
  template <class Take>
  void for_each(std::uint32_t rank_class, Take take) const {
    const RankClass& made = tables_.classes[rank_class];
    Expansion expansion(made.grammar);
    std::uint32_t call = 0;
    std::uint32_t before = 0;
    while (expansion.next(call)) before = for_call(made, call, before, take);
  }

  // The same for values of which equal ones, with the same calls before and at them, follow from
  // one another: `take` is called for two repetitions of a loop at most, and `copy(first, last)`
  // for more: the values from the first one to the last one, exclusive, come once more. Values are
  // numbered by `size()`.
  template <class Take, class Size, class Copy>
  void for_each_once(std::uint32_t rank_class, const Take& take, const Size& size,
                     const Copy& copy) const {
    std::uint32_t before = 0;
    walk_rule(tables_.classes[rank_class], 0, before, take, size, copy);
  }

  std::uint32_t places(std::uint32_t kind) const {
    return 1 + static_cast<std::uint32_t>(arguments_[kind].size());
  }

 private:
  // Returns what is before the next call.
  template <class Take>
  std::uint32_t for_call(const RankClass& made, std::uint32_t call, std::uint32_t before,
                         const Take& take) const {
    const std::uint32_t kind = tables_.kinds[made.signatures[call]];
    if (made.has_volumes) take(before, kind, 0U, true);
    for (std::size_t i = 0; i < arguments_[kind].size(); ++i) {
      take(before, kind, static_cast<std::uint32_t>(i) + 1, bool{arguments_[kind][i]});
    }
    return kind + 1;
  }

  template <class Take, class Size, class Copy>
  void walk_rule(const RankClass& made, std::uint32_t rule, std::uint32_t& before, const Take& take,
                 const Size& size, const Copy& copy) const {
    for (const Item item : made.grammar.rules[rule]) {
      std::size_t first = 0;
      for (std::uint64_t times = 0; times < item.exponent; ++times) {
        // From the second time on, what is before the first call is the last one of the item.
        if (times == 2) {
          const std::size_t last = size();
          for (; times < item.exponent; ++times) copy(first, last);
          break;
        }
        first = size();
        if (item.is_rule()) {
          walk_rule(made, item.number(), before, take, size, copy);
        } else {
          before = for_call(made, item.number(), before, take);
        }
      }
    }
  }

  const TraceTables& tables_;
  std::vector<std::vector<bool>> arguments_;  // of each kind: whether each in a column is a volume
};

}  // namespace tit
}  // namespace tisim
