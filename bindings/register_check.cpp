// `check`: the errors in a trace, and the counts of its contents.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings.hpp"
#include "file_parts.hpp"
#include "progress_reporter.hpp"
#include "trace/check/check.hpp"
#include "trace/inspect/traced_files.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

// Findings as (severity, rank, file, line or none, message), counts as (name, actions, messages,
// bytes, amount).
// `by_action`: reads every repetition of every loop, for comparison.
nb::dict check_trace(const TraceSet& set, nb::object progress, bool by_action) {
  ProgressReporter reporter(std::move(progress));
  CheckReport report;
  {
    const nb::gil_scoped_release unlocked;
    report = check(set, reporter.progress(), by_action ? Loops::by_action : Loops::by_repetition);
  }
  nb::list findings;
  for (const Finding& finding : report.findings.kept()) {
    const nb::object line = finding.line == 0 ? nb::none() : nb::cast(finding.line);
    findings.append(nb::make_tuple(severity_name(finding.severity), finding.rank,
                                   decoded(finding.file), line, decoded(finding.message)));
  }
  nb::list counts;
  for (const ActionCount& count : report.counts) {
    counts.append(
        nb::make_tuple(count.name, count.actions, count.messages, count.bytes, count.amount));
  }
  nb::dict result;
  result["actions"] = report.actions;
  result["counts"] = counts;
  result["findings"] = findings;
  result["errors"] = report.findings.errors();
  result["warnings"] = report.findings.warnings();
  return result;
}

std::vector<FileUse> files_of_trace(const TraceSet& set, nb::object progress) {
  ProgressReporter reporter(std::move(progress));
  const nb::gil_scoped_release unlocked;
  return traced_files(set, reporter.progress());
}

}  // namespace

void register_check(nb::module_& m) {
  m.def("check", &check_trace, "set"_a, "progress"_a.none() = nb::none(), "by_action"_a = false);
  m.def("traced_files", &files_of_trace, "set"_a, "progress"_a.none() = nb::none());
}

}  // namespace tisim
