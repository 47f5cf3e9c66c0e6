// A rank's operations as a script: what a program in C executes that has no reader of traces.
//
// The byte layout. A varint is seven bits a byte, the low ones first; a zigzag is a varint of
// 2 n for n >= 0 and of -2 n - 1 below; a double is eight bytes, the low one first.
//
//   kScriptMagic, varint version, varint number of ranks, varint rank, then statements:
//   varint 0             the end
//   varint 1, varint n   the next statement stands in line n of the trace
//   varint 2, double     an instruction of the kind `compute`, with this amount
//   varint 3, fields     an instruction, which is kept: it gets the next number, from 0 on
//   varint 4, fields     an instruction that is not kept
//   varint 5 + n         instruction number n once more
//
// A statement stands in the line behind that of the statement before, unless it says otherwise.
// The fields of an instruction are those of the Op that it is made of:
//
//   varint kind, varint operation, varint flags, varint communicator, zigzag peer, zigzag tag,
//   zigzag bytes, double amount, varint n, n zigzags
//
// The n numbers are, of a collective: ranks of the communicator, root, send count, receive count,
// bytes of an element sent and received, of a neighbourhood collective how many it sends to and who
// they are and the same of those that it receives from, the send counts by rank or neighbour and
// the receive counts where it has them; its tag is the one by which a wait without a number names
// it. Of a list of requests: their numbers. Of a comm_split and the like: the arguments. Of an
// open: the size of the file, how many flags there are, their letters, and those of the name as it
// is on this rank; of a stat and the like the name; of an lseek from where (SeekFrom) and the
// offset; of a pread and the like the offset. An `init` and the like makes no instruction.
#pragma once

#include <cstdint>
#include <string>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"

namespace tisim {

inline constexpr char kScriptMagic[] = "tisim script\n";
inline constexpr std::uint64_t kScriptVersion = 1;
// A reader keeps so many instructions, of so many bytes in all.
inline constexpr std::size_t kMostKeptInstructions = 1U << 16;
inline constexpr std::size_t kMostKeptBytes = 16U << 20;

// Writes DIRECTORY/rank-N.script for each rank. The memory that it takes does not grow with the
// length of the trace. Throws TraceError where a line is wrong, where an operation is none of MPI's
// (unless `files`: or on files), and where a file cannot be written.
void write_scripts(const TraceSet& set, const std::string& directory, bool files,
                   const Progress& progress);

}  // namespace tisim
