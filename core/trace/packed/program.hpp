// The grammar of a class, prepared for its readers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim {

// A call in a stretch.
struct ProgramCall {
  std::uint32_t call = 0;  // its index in the class' signatures
  // The number of its site in tit::VolumeSites, if its volume is in the column and it is not the
  // first call of its stretch, whose predecessor is unknown.
  std::uint32_t volume_site = 0;
};

// Part of a rule: a stretch of calls that is repeated in a row, or another rule.
struct ProgramSegment {
  // nullptr: a rule. The array has one more element after the last call.
  const ProgramCall* calls = nullptr;
  std::uint32_t length = 0;  // number of calls; or the number of the rule
  std::uint32_t repeats = 1;
};

// Rules of few calls are expanded in place: longer stretches are faster to read.
class PackedProgram {
 public:
  // All arguments must outlive the program. `ranks`: those of the class.
  PackedProgram(const tit::TraceTables& tables, const tit::RankClass& rank_class,
                const std::vector<std::int32_t>& ranks, const tit::SiteTable& site_table,
                const tit::VolumeSites& volume_sites);

  const tit::RankClass& rank_class() const { return *class_; }
  const std::vector<std::int32_t>& ranks() const { return *ranks_; }
  const std::vector<ProgramSegment>& rule(std::uint32_t number) const { return rules_[number]; }
  // Nesting depth of rules, including the first one.
  std::uint32_t depth() const { return depth_; }

  // The numbers of a call on the class' rank at `position`; those in columns are 0.
  void numbers(std::uint32_t call, std::uint32_t position, std::vector<std::int64_t>& into) const;

 private:
  // The context of the volume before a call.
  struct CallContext {
    std::uint32_t kind = 0;
    bool has_columns = false;
  };

  ProgramCall* expand(std::uint32_t rule, std::uint64_t times, ProgramCall* at) const;
  ProgramSegment stretch(const std::vector<ProgramCall>& calls, std::uint32_t repeats);
  void repeat(const ProgramSegment& once, std::uint32_t repeats,
              std::vector<ProgramSegment>& segments);
  void find_sites(ProgramCall* calls, std::size_t count) const;
  void make_rule(std::uint32_t rule);

  const tit::TraceTables* tables_;
  const tit::RankClass* class_;
  const std::vector<std::int32_t>* ranks_;
  const tit::SiteTable* site_table_;
  const tit::VolumeSites* volume_sites_;
  std::vector<std::vector<ProgramSegment>> rules_;
  std::vector<std::unique_ptr<const ProgramCall[]>> call_arrays_;
  std::vector<ProgramCall> call_scratch_;     // scratch while a rule is built
  std::vector<std::uint64_t> lengths_;        // of rules, in calls
  std::vector<CallContext> contexts_;         // of each call
  std::vector<std::uint32_t> first_vectors_;  // of each call: its first vector in the class
  std::size_t budget_;                        // number of calls that may still be expanded
  std::uint32_t depth_ = 1;
};

// How often each rule of a grammar is used.
std::vector<std::uint64_t> uses_of_rules(const tit::Grammar& grammar);
// Rules in an order in which each precedes those it uses.
std::vector<std::uint32_t> order_of_rules(const tit::Grammar& grammar);

}  // namespace tisim
