/* Data shared between the recorder and the QEMU plug-in that counts instructions. */
#ifndef TISIM_SHARED_COUNT_H
#define TISIM_SHARED_COUNT_H

#include <stdint.h>

struct tisim_shared_count {
  uint64_t instructions;
  /* The recorder's own code, which is not counted. */
  uint64_t skipped_begin;
  uint64_t skipped_end;
};

#endif
