// Files from Python: names are bytes, independent of the file system's encoding.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "trace/trace_file.hpp"

namespace tisim {

// Part of a file: its displayed name, its path or the descriptor of an open file, its offset and
// its number of bytes (none: up to the end).
using FilePart = std::tuple<nanobind::bytes, std::optional<nanobind::bytes>, int, std::uint64_t,
                            std::optional<std::uint64_t>>;

// Throws TraceError if a descriptor is invalid.
std::vector<TraceFile> files_of(const std::vector<FilePart>& parts);

std::string text_of(const nanobind::bytes& bytes);
// The name of a file as Python's `str`.
nanobind::object decoded(const std::string& name);

}  // namespace tisim
