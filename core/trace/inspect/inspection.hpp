// Summary of an application from the structure of its packed trace, without a replay.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/progress.hpp"
#include "trace/inspect/call_paths.hpp"
#include "trace/inspect/statistics.hpp"
#include "trace/inspect/structure.hpp"
#include "trace/packed/file.hpp"
#include "trace/tit/file/container.hpp"
#include "trace/tit/file/tables.hpp"

namespace tisim {

// Calls in readable form, without the numbers that differ.

// A call as its class makes it: "send rank+1 0 8192"; "<by rank>" replaces a number that each rank
// has its own of, "*" one that varies over time.
std::string signature_text(const tit::TraceTables& tables, std::uint32_t signature);

// A call without its peers: "send <peer> 0 8192". Signatures of one kind have the same text.
std::string site_text(const tit::TraceTables& tables, std::uint32_t signature);

// Ranks with the same calls.
struct ClassSummary {
  std::uint32_t number = 0;
  std::uint64_t ranks = 0;
  // First and last ranks of the first contiguous ranges of them, and the number of ranges.
  std::vector<std::pair<std::int32_t, std::int32_t>> stretches;
  std::uint64_t stretch_count = 0;
  std::uint64_t calls = 0;     // of one rank
  std::uint64_t distinct = 0;  // calls
  std::uint64_t rules = 0;
  std::uint64_t items = 0;         // of all rules
  std::uint64_t longest_loop = 0;  // iterations
  std::vector<OutlineLine> outline;
};

// The same loop in any number of classes.
struct LoopSummary {
  ProgramLoop loop;           // of the first class; `entered` is summed over all ranks
  std::uint64_t classes = 0;  // classes with this loop
  std::uint64_t ranks = 0;    // ranks of these classes
};

struct SignatureSummary {
  std::string text;
  std::uint64_t calls = 0;
  std::uint64_t classes = 0;
  std::uint64_t ranks = 0;
};

struct SiteSummary {
  std::string text;  // empty: the end of a rank's trace
  std::string path;  // call path in the program; empty if the trace lacks it
  SiteTotal total;
};

struct Inspection {
  std::vector<tit::Section> sections;  // without their bytes
  // Uncompressed sizes of the grammars and of the vectors of numbers by rank.
  std::uint64_t grammar_bytes = 0;
  std::uint64_t vector_bytes = 0;

  std::int32_t ranks = 0;
  std::uint64_t actions = 0;
  std::uint64_t comments = 0;
  std::uint64_t unreadable = 0;  // unknown actions or invalid lines
  // True if all sizes and volumes are counted; else those in columns are missing.
  bool complete = false;
  std::vector<std::pair<std::string, ActionTotal>> by_action;

  // Sorted by number of calls, largest first, and cut; `class_count` and so on are the totals.
  std::vector<ClassSummary> classes;
  std::vector<LoopSummary> loops;
  std::vector<SignatureSummary> signatures;
  std::vector<SiteSummary> sites;
  std::vector<CallPathSummary> call_paths;
  std::vector<std::string> modules;  // the comments on the files that call paths refer to
  std::uint64_t class_count = 0;
  std::uint64_t loop_count = 0;
  std::uint64_t signature_count = 0;
  std::uint64_t site_count = 0;
  std::uint64_t call_path_count = 0;
};

// `with_columns`: also reads values in columns, one by one. Throws TraceError.
Inspection inspect(const PackedFile& file, bool with_columns, const Progress& progress = {});

}  // namespace tisim
