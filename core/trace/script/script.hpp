// A rank's operations as a script, for a C program without a trace reader.
//
// Byte layout: a varint has seven bits a byte, low ones first; a zigzag is a varint of 2 n for n >=
// 0 and of -2 n - 1 below; a double is eight bytes, the low one first.
//
//   kScriptMagic, varint version, varint number of ranks, varint rank, then statements:
//   varint 0             the end
//   varint 1, varint n   the next statement is in line n of the trace
//   varint 2, double     an instruction of the kind `compute`, with this amount
//   varint 3, fields     an instruction to keep: it gets the next number, starting from 0
//   varint 4, fields     an instruction not to keep
//   varint 5 + n         instruction number n again
//
// A statement is in the line after that of the previous statement, unless specified otherwise. The
// fields of an instruction are those of its Op:
//
//   varint kind, varint operation, varint flags, varint communicator, zigzag peer, zigzag tag,
//   zigzag bytes, double amount, varint n, n zigzags
//
// The n numbers are, for a collective: ranks of the communicator, root, send count, receive count,
// bytes of an element sent and received; for a neighbourhood collective, the number and ranks of
// its destinations, then those of its sources; the send counts by rank or neighbour and the receive
// counts, if it has them. Its tag is the one by which a wait without a number names it. For a list
// of requests: their numbers. For a comm_split and the like: the arguments. For an open: the size
// of the file, the number of flags, their letters, and those of the name as it is on this rank; for
// a stat and the like the name; for an lseek its origin (SeekFrom) and the offset; for a pread and
// the like the offset. An `init` and the like produces no instruction.
#pragma once

#include <cstdint>
#include <string>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"

namespace tisim {

inline constexpr char kScriptMagic[] = "tisim script\n";
inline constexpr std::uint64_t kScriptVersion = 1;
// Limits of a reader: number of instructions kept, and their total bytes.
inline constexpr std::size_t kMaxKeptInstructions = 1U << 16;
inline constexpr std::size_t kMaxKeptBytes = 16U << 20;

// Writes DIRECTORY/rank-N.script for each rank. Memory use does not grow with the length of the
// trace. Throws TraceError if a line is invalid, if an operation is not one of MPI's (or, with
// `files`, on files), and if a file cannot be written.
void write_scripts(const TraceSet& set, const std::string& directory, bool files,
                   const Progress& progress);

}  // namespace tisim
