// The grammar of a class as its readers follow it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim {

// A call in a stretch.
struct ProgramCall {
  std::uint32_t call = 0;  // its place in the class' signatures
  // The number of its site in tit::VolumeSites, if its volume is in the column and it is not the
  // first call of its stretch: behind which call that one comes is not known.
  std::uint32_t volume_site = 0;
};

// A stretch of a rule: calls that stand there, so often one after the other, or another rule.
struct ProgramSegment {
  // None: a rule. One more stands behind the last, which is not a call.
  const ProgramCall* calls = nullptr;
  std::uint32_t length = 0;  // of the calls; else the number of the rule
  std::uint32_t repeats = 1;
};

// Rules of few calls are spelled out where they stand: longer stretches are read faster.
class PackedProgram {
 public:
  // All must outlive the program. `ranks`: those of the class.
  PackedProgram(const tit::TraceTables& tables, const tit::RankClass& rank_class,
                const std::vector<std::int32_t>& ranks, const tit::SiteTable& site_table,
                const tit::VolumeSites& volume_sites);

  const tit::RankClass& rank_class() const { return *class_; }
  const std::vector<std::int32_t>& ranks() const { return *ranks_; }
  const std::vector<ProgramSegment>& rule(std::uint32_t number) const { return rules_[number]; }
  // Rules within rules, the first one included.
  std::uint32_t depth() const { return depth_; }

  // The numbers of a call on the class' rank at `position`; those in columns are 0.
  void numbers(std::uint32_t call, std::uint32_t position, std::vector<std::int64_t>& into) const;

 private:
  // The place of the volume before a call.
  struct CallContext {
    std::uint32_t kind = 0;
    bool has_columns = false;
  };

  ProgramCall* spell_out(std::uint32_t rule, std::uint64_t times, ProgramCall* at) const;
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
  std::vector<std::unique_ptr<const ProgramCall[]>> spelled_;
  std::vector<ProgramCall> gathered_;         // room while a rule is made
  std::vector<std::uint64_t> lengths_;        // of rules, in calls
  std::vector<CallContext> contexts_;         // of each call
  std::vector<std::uint32_t> first_vectors_;  // of each call: its first vector in the class
  std::size_t budget_;                        // calls that may still be spelled out
  std::uint32_t depth_ = 1;
};

// How often each rule of a grammar is followed.
std::vector<std::uint64_t> uses_of_rules(const tit::Grammar& grammar);
// Rules in an order in which each comes before those that it uses.
std::vector<std::uint32_t> order_of_rules(const tit::Grammar& grammar);

}  // namespace tisim
