// Writing to files inside other people's programs.
#pragma once

#include <cstddef>

namespace tisim {
namespace tit {

// Writes all bytes to the open file; false, with errno set, if that fails. A file that would grow
// beyond the limit of the process is such an error: the signal SIGXFSZ, which ends a process that
// does not expect it, does not reach the program.
bool write_all(int descriptor, const char* bytes, std::size_t size);

}  // namespace tit
}  // namespace tisim
