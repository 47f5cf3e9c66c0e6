// An opened packed trace: its tables are in memory, its columns are read on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/packed/program.hpp"
#include "trace/tit/file/container.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/trace_file.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

class PackedAttributes;

// The column of a rank and the file offset of its blocks; nullptr: the rank has none.
struct ColumnLocation {
  const tit::RankColumn* column = nullptr;
  std::uint64_t offset = 0;
};

// Immutable: any number of threads may read it.
class PackedFile {
 public:
  // A site of column values, prepared for readers.
  struct Site {
    tit::DecodingTable model;  // if it varies
    std::uint64_t value = 0;   // if it does not vary
    bool varies = false;
  };

  // True if the file begins like a packed trace. Throws TraceError if it cannot be read.
  static bool recognises(const TraceFile& file);

  // Throws TraceError if the file is damaged, truncated, of another version, or not a packed trace.
  explicit PackedFile(TraceFile file);
  ~PackedFile();

  const TraceFile& file() const { return file_; }
  // Its sections, without their contents.
  const std::vector<tit::Section>& sections() const { return container_; }
  // The unknown optional sections with their contents, and all bytes of the file. Throw TraceError.
  std::vector<tit::Section> unknown_sections() const;
  std::optional<std::string> unknown_section(const std::string& name) const;
  std::string bytes() const;
  const tit::TraceTables& tables() const { return tables_; }
  const Site& site(std::uint32_t number) const { return sites_[number]; }
  const tit::VolumeSites& volume_sites() const { return volume_sites_; }
  const tit::SiteTable& site_table() const { return site_table_; }
  Dialect dialect() const { return tables_.layout.legacy ? Dialect::legacy : Dialect::modern; }
  std::int32_t ranks() const { return static_cast<std::int32_t>(tables_.ranks); }

  std::uint32_t class_of(std::int32_t rank) const { return rank_positions_.class_of[at(rank)]; }
  // The rank's position in its class.
  std::uint32_t position_of(std::int32_t rank) const { return rank_positions_.position[at(rank)]; }
  const std::vector<std::int32_t>& ranks_of(std::uint32_t rank_class) const {
    return rank_positions_.ranks[rank_class];
  }
  // The program of a class, created on first use.
  const PackedProgram& program(std::uint32_t rank_class) const;

  std::string name(std::int32_t rank) const;
  // The name in errors: the packed file's name followed by the rank's file.
  std::string display_name(std::int32_t rank) const { return file_.name + "/" + name(rank); }
  bool has_last_newline(std::int32_t rank) const {
    return tables_.layout.has_last_newline.at(at(rank), rank) != 0;
  }

  // Numbers of calls, the unit of RankReader::bytes_read(), and of lines that are actions.
  std::uint64_t calls_of(std::int32_t rank) const;
  std::uint64_t calls() const { return calls_; }
  std::uint64_t actions() const { return actions_; }

  // True if volumes before calls are drawn by a seed instead of stored in the file.
  bool draws_volumes() const { return seed_.has_value(); }
  // The value drawn at a site for the rank's call with this index, from 0.
  std::uint64_t drawn_volume(std::uint32_t site, std::int32_t rank, std::uint64_t call) const;

  // The code of a volume from its number in a column. Throws TraceError if there is none.
  std::uint64_t volume_of(std::uint64_t number) const;
  // The amount of a volume from the nonzero value of its site. Throws TraceError.
  double amount_of(std::uint64_t value) const {
    if (value < volume_sites_.known()) return volume_sites_.amounts()[value];
    return other_amount(value);
  }
  // An argument of a call from its value in a column. Throws TraceError.
  std::int64_t argument_of(const tit::Hole& hole, std::uint64_t value) const;

  ColumnLocation column_of(std::int32_t rank) const;

  // The attributes of its calls, read on first use; nullptr if it has none. Throws TraceError.
  const PackedAttributes* attributes() const;

  [[noreturn]] void damaged(std::string_view what) const;

 private:
  double other_amount(std::uint64_t value) const;
  void read();
  void count();
  static std::size_t at(std::int32_t rank) { return static_cast<std::size_t>(rank); }

  TraceFile file_;
  std::vector<tit::Section> container_;
  tit::TraceTables tables_;
  std::vector<Site> sites_;
  std::optional<std::uint64_t> seed_;
  tit::VolumeSites volume_sites_;
  tit::SiteTable site_table_;
  tit::RankPositions rank_positions_;
  std::vector<std::uint64_t> column_offsets_;  // of each of tables_.columns, in the file
  std::vector<std::uint64_t> class_calls_;     // of one rank of each class
  std::uint64_t calls_ = 0;
  std::uint64_t actions_ = 0;
  mutable std::mutex making_;
  mutable std::vector<std::unique_ptr<const PackedProgram>> programs_;
  mutable std::unique_ptr<const PackedAttributes> attributes_;
};

// The text of a graph of GPUs: the only section of its file (required), or next to a trace whose
// ranks launch its blocks (optional).
inline constexpr std::string_view kGraphSection = "graph";

// A file with that section only.
std::string packed_graph(const std::string& text);
// The text of the graph in a packed file, if it has one. Throws TraceError.
std::optional<std::string> graph_in(TraceFile file);

// The sites of columns, prepared for readers.
std::vector<PackedFile::Site> sites_of(const tit::CodedColumns& columns);
// File offset of the column of each rank. Throws FormatError.
std::vector<std::uint64_t> column_offsets(const std::vector<tit::RankColumn>& columns,
                                          std::uint64_t begin, std::uint64_t size);
ColumnLocation find_column(const std::vector<tit::RankColumn>& columns,
                           const std::vector<std::uint64_t>& offsets, std::int32_t rank);

}  // namespace tisim
