// The operations of one rank, in batches, whatever form its trace has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// TraceSet::open() makes one. Readers of text and of packed traces know nothing of one another.
class RankReader {
 public:
  RankReader() = default;
  virtual ~RankReader() = default;
  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;

  // The next operations, `capacity` of them; fewer only at the end of the trace. Throws TraceError.
  virtual std::size_t read(Op* out, std::size_t capacity) = 0;

  // Bytes of the trace that the operations up to now take, of those that TraceSet::bytes() counts.
  virtual std::uint64_t bytes_read() const = 0;

  // The file that the operations' lines are in.
  virtual std::string file() const = 0;

  // Whether a source of -333 was taken for ANY_SOURCE, or a type of unknown width for 0 bytes.
  virtual bool uses_mistaken_null() const = 0;
  virtual bool uses_lost_type() const = 0;
};

}  // namespace tisim
