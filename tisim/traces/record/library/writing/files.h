/* Writing files from inside the program. */
#ifndef TISIM_FILES_H
#define TISIM_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all bytes; false, with errno set, if that fails. A file that grows beyond the limit of the
 * process is such a failure, without the signal SIGXFSZ, which would end the program. */
bool tisim_write_all(int file, const char *bytes, size_t size);

#endif
