// The tables of a packed trace: classes of ranks, their grammars and signatures, sites of columns.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/site_model.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/vector/rank_vector.hpp"

namespace tisim::tit {

// The first shapes of every file.
constexpr std::uint32_t kComputeShape = 0;  // "compute" and a volume
constexpr std::uint32_t kSilentShape = 1;   // no line: carries a volume without a following call
constexpr std::uint32_t kFirstShape = 2;

// Number of leading holes of a call whose numbers determine its kind.
constexpr std::size_t kMaxKindArguments = 6;

struct Shape {
  std::string text;
  std::uint64_t rank_holes = 0;  // bit i: hole i takes a rank
  std::vector<Hole> holes = {};  // derived from the text
  bool is_rank(std::size_t hole) const { return hole < 64 && ((rank_holes >> hole) & 1) != 0; }
};

// How a number of a call is given.
enum class Mode : std::uint8_t {
  constant,   // the same on all ranks of the class
  relative,   // the rank plus a constant
  exclusive,  // the rank xor a constant
  by_rank,    // a vector over the ranks of the class
  column,     // a separate value each time, in the rank's column
};

struct Argument {
  Mode mode = Mode::constant;
  std::int64_t value = 0;

  void write(Bytes& out) const;
  // Throws FormatError.
  static Argument read(ByteReader& in);
};

// A call without the numbers that vary between ranks or over time.
struct Signature {
  std::uint32_t shape = 0;
  std::vector<Argument> arguments;  // one per hole
};

// Ranks with the same calls.
struct RankClass {
  Grammar grammar;                        // its terminals are indices into `signatures`
  std::vector<std::uint32_t> signatures;  // numbers in TraceTables::signatures
  std::vector<RankVector> vectors;        // of the arguments by_rank, in order
  bool has_volumes = false;               // each call has a slot for a preceding volume
};

// The context of values in columns: a call after another one. Its sites are numbered from
// `first_site`: the volume before the call, then the call's arguments in columns.
struct Context {
  std::uint32_t before = 0;  // kind of the previous call plus 1; 0 at the beginning
  std::uint32_t at = 0;      // kind of the call
  std::uint32_t first_site = 0;
};

// All values at one site.
struct Site {
  bool varies = false;
  std::uint64_t value = 0;  // if constant; else the site's number among varying ones
};

// The column of one rank.
struct Block {
  std::uint64_t values = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
};
struct RankColumn {
  std::uint32_t rank = 0;
  std::uint64_t volumes = 0;  // lines that its column adds to those of its grammar
  std::vector<Block> blocks;
};

// Sites, the models of the varying ones, and the positions of the ranks' values.
struct CodedColumns {
  std::vector<Site> sites;
  ModelSet models;  // of the sites that vary
  std::vector<RankColumn> columns;

  // The number of sites is not stored.
  void write_coded(Bytes& out) const;
  // Throws FormatError.
  void read_coded(ByteReader& in, std::size_t sites_count, std::uint32_t ranks);
};

// File names of one form: a shape, and the numbers of its holes over the ranks that have it.
struct NameShape {
  std::string text;
  std::vector<RankVector> numbers;
};

struct FileLayout {
  bool legacy = false;  // the dialect of its lines
  bool merged = false;  // one file of all ranks
  std::string index_name;
  std::string index_text;
  RankVector name_of;  // number of each rank's shape
  std::vector<NameShape> names;
  RankVector has_last_newline;  // of each rank
  std::string precision = {};   // of volumes; empty: exact
};

struct TraceTables : CodedColumns {
  std::uint32_t ranks = 0;
  FileLayout layout;
  std::vector<Shape> shapes;
  std::vector<Signature> signatures;
  std::vector<RankClass> classes;
  RankVector class_of;                 // each rank's
  std::vector<std::uint64_t> volumes;  // distinct codes in ascending order; empty: not used
  std::vector<Context> contexts;
  // Derived from the above: the kind of each signature, which contexts distinguish.
  std::vector<std::uint32_t> kinds;
  std::uint32_t kinds_count = 0;
  void number_kinds();

  // The contents of the sections "trace" and "columns"; the former comes first.
  void write_trace(Bytes& out) const;
  void write_columns(Bytes& out) const;
  // Check all assumptions of the reader. Throw FormatError.
  void read_trace(ByteReader& in);
  void read_columns(ByteReader& in);
};

// The class of each rank, its position in the class, and the ranks of each class.
struct RankPositions {
  std::vector<std::uint32_t> class_of;
  std::vector<std::uint32_t> position;
  std::vector<std::vector<std::int32_t>> ranks;  // of each class, ascending
};
// Number of ranks of each class. Throws FormatError if a rank has no class.
std::vector<std::uint32_t> sizes_of_classes(const RankVector& class_of, std::uint32_t ranks,
                                            std::uint32_t classes);
RankPositions positions_of(const RankVector& class_of, std::uint32_t ranks, std::uint32_t classes);

// Finds the sites of a call after another one.

class SiteTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  SiteTable() = default;
  explicit SiteTable(const TraceTables& tables) : width_(tables.kinds_count) {
    constexpr std::uint64_t kMaxDense = std::uint64_t{1} << 20;
    is_dense_ = (std::uint64_t{width_} + 1) * width_ <= kMaxDense;
    if (is_dense_) dense_.assign((std::size_t{width_} + 1) * width_, kNone);
    for (const Context& context : tables.contexts) {
      const std::uint64_t slot = slot_of(context.before, context.at);
      if (is_dense_) {
        dense_[static_cast<std::size_t>(slot)] = context.first_site;
      } else {
        sparse_[slot] = context.first_site;
      }
    }
  }

  // The first site of the context; kNone if it has none. `before`: the kind of the previous call
  // plus 1, or 0; `at`: the kind of the call.
  std::uint32_t find(std::uint32_t before, std::uint32_t at) const {
    const std::uint64_t slot = slot_of(before, at);
    if (is_dense_) return dense_[static_cast<std::size_t>(slot)];
    const auto entry = sparse_.find(slot);
    return entry == sparse_.end() ? kNone : entry->second;
  }

 private:
  std::uint64_t slot_of(std::uint32_t before, std::uint32_t at) const {
    return std::uint64_t{before} * width_ + at;
  }

  std::uint64_t width_ = 0;
  bool is_dense_ = true;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
};

// Volume sites of computations, prepared for the fast loops of readers.

// The site of the volume before a call.
struct VolumeSite {
  const std::uint16_t* limits = nullptr;  // of its model, if it varies
  const BinChoice* choices = nullptr;     // of its model
  std::uint32_t shift = 0;                // of its model
  std::uint32_t value = 0;                // if it does not vary
};

// The volume sites of a trace. A value is 0 (no volume) or 1 plus the number of a volume.
class VolumeSites {
 public:
  // Number assigned to sites that fast loops cannot read.
  static constexpr std::uint32_t kSpecial = 0;
  // Number assigned to calls that no computation ever precedes.
  static constexpr std::uint32_t kNothing = 1;

  VolumeSites() : sites_(2) {}
  // `tables` must outlive it.
  explicit VolumeSites(const TraceTables& tables);

  // The number of the volume's site for a call of kind `at` after one of kind `before` - 1.
  std::uint32_t number(const SiteTable& table, std::uint32_t before, std::uint32_t at) const {
    const std::uint32_t index = table.find(before, at);
    return index == SiteTable::kNone ? kNothing : number_of_[index];
  }
  const VolumeSite* data() const { return sites_.data(); }

  // True if the trace lists its volumes; else values are 1 plus the code of a volume.
  bool is_listed() const { return is_listed_; }
  // The amounts of values: those below known(), and further ones that damaged files may contain.
  const double* amounts() const { return amounts_.data(); }
  std::uint64_t known() const { return known_; }
  // True if a damaged file may contain unknown values.
  bool may_exceed() const { return amounts_.size() > known_; }

 private:
  std::vector<VolumeSite> sites_;
  std::vector<std::uint32_t> number_of_;  // by site of the tables
  std::vector<double> amounts_;
  std::uint64_t known_ = 0;
  bool is_listed_ = false;
};

}  // namespace tisim::tit
