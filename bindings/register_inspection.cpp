// `inspect`: the behaviour of an application, from the structure of its packed trace.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "file_parts.hpp"
#include "progress_reporter.hpp"
#include "trace/inspect/inspection.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Returns (count, sum, least, most, [(index of the bin, number of its values)]).
nb::tuple distribution(const Distribution& values) {
  nb::list bins;
  for (std::size_t bin = 0; bin < Distribution::kBins; ++bin) {
    if (values.histogram[bin] > 0) bins.append(nb::make_tuple(bin, values.histogram[bin]));
  }
  return nb::make_tuple(values.count, values.sum, values.least, values.most, bins);
}

// Returns rows of (what, depth, times, text, calls per repetition).
nb::list outline(const std::vector<OutlineLine>& lines, const tit::TraceTables& tables) {
  nb::list made;
  for (const OutlineLine& line : lines) {
    const char* what = "left out";
    nb::object text = nb::str("");
    if (line.kind == OutlineLine::LineKind::call) {
      what = "call";
      text = decoded(signature_text(tables, line.signature));
    } else if (line.kind == OutlineLine::LineKind::loop) {
      what = "loop";
    }
    made.append(nb::make_tuple(what, line.depth, line.times, text, line.calls));
  }
  return made;
}

nb::list classes(const Inspection& inspection, const tit::TraceTables& tables) {
  nb::list made;
  for (const ClassSummary& summary : inspection.classes) {
    nb::list stretches;
    for (const auto& [first, last] : summary.stretches) {
      stretches.append(nb::make_tuple(first, last));
    }
    nb::dict row;
    row["number"] = summary.number;
    row["ranks"] = summary.ranks;
    row["stretches"] = stretches;
    row["stretch_count"] = summary.stretch_count;
    row["calls"] = summary.calls;
    row["distinct_calls"] = summary.distinct;
    row["rules"] = summary.rules;
    row["items"] = summary.items;
    row["longest_loop"] = summary.longest_loop;
    row["outline"] = outline(summary.outline, tables);
    made.append(row);
  }
  return made;
}

nb::list loops(const Inspection& inspection) {
  nb::list made;
  for (const LoopSummary& summary : inspection.loops) {
    nb::list actions;
    for (const auto& [name, times] : summary.loop.actions) {
      actions.append(nb::make_tuple(decoded(name), times));
    }
    made.append(nb::make_tuple(summary.loop.iterations, summary.loop.entered, summary.loop.calls,
                               summary.classes, summary.ranks, actions));
  }
  return made;
}

nb::dict as_dict(const Inspection& inspection, const tit::TraceTables& tables) {
  nb::list sections;
  for (const tit::Section& section : inspection.sections) {
    sections.append(nb::make_tuple(decoded(section.name), section.version, section.required,
                                   section.stored, section.size));
  }
  nb::list actions;
  for (const auto& [name, total] : inspection.by_action) {
    actions.append(
        nb::make_tuple(decoded(name), total.actions, total.messages, total.bytes, total.amount));
  }
  nb::list signatures;
  for (const SignatureSummary& summary : inspection.signatures) {
    signatures.append(
        nb::make_tuple(decoded(summary.text), summary.calls, summary.classes, summary.ranks));
  }
  nb::list sites;
  for (const SiteSummary& summary : inspection.sites) {
    sites.append(nb::make_tuple(decoded(summary.text), decoded(summary.path), summary.total.calls,
                                distribution(summary.total.bytes),
                                distribution(summary.total.volumes)));
  }
  nb::list call_paths;
  for (const CallPathSummary& summary : inspection.call_paths) {
    call_paths.append(
        nb::make_tuple(decoded(summary.path), decoded(summary.action), summary.calls));
  }
  nb::list modules;
  for (const std::string& comment : inspection.modules) modules.append(decoded(comment));
  nb::dict made;
  made["ranks"] = inspection.ranks;
  made["actions"] = inspection.actions;
  made["comments"] = inspection.comments;
  made["unreadable"] = inspection.unreadable;
  made["complete"] = inspection.complete;
  made["dialect"] = tables.layout.legacy ? "legacy" : "modern";
  made["merged"] = tables.layout.merged;
  made["precision"] = tables.layout.precision.empty() ? "exact" : tables.layout.precision;
  made["sections"] = sections;
  made["grammar_bytes"] = inspection.grammar_bytes;
  made["vector_bytes"] = inspection.vector_bytes;
  made["by_action"] = actions;
  made["classes"] = classes(inspection, tables);
  made["loops"] = loops(inspection);
  made["signatures"] = signatures;
  made["sites"] = sites;
  made["call_paths"] = call_paths;
  made["modules"] = modules;
  made["call_path_count"] = inspection.call_path_count;
  made["class_count"] = inspection.class_count;
  made["loop_count"] = inspection.loop_count;
  made["signature_count"] = inspection.signature_count;
  made["site_count"] = inspection.site_count;
  return made;
}

nb::dict inspect_file(const FilePart& part, bool with_columns, nb::object progress) {
  ProgressReporter reporter(std::move(progress));
  std::unique_ptr<const PackedFile> file;
  Inspection inspection;
  TraceFile opened = files_of({part}).front();
  {
    const nb::gil_scoped_release unlocked;
    file = std::make_unique<const PackedFile>(std::move(opened));
    inspection = inspect(*file, with_columns, reporter.progress());
  }
  return as_dict(inspection, file->tables());
}

bool is_packed(const FilePart& part) { return PackedFile::recognises(files_of({part}).front()); }

}  // namespace

void register_inspection(nb::module_& m) {
  m.def("inspect", &inspect_file, "file"_a, "with_columns"_a, "progress"_a.none());
  m.def("is_packed", &is_packed, "file"_a);
}

}  // namespace tisim
