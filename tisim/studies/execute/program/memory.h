/* The memory of messages, and how much of it a script takes. */
#ifndef TISIM_MEMORY_H
#define TISIM_MEMORY_H

#include <stdint.h>

/* Room for a message that is received. While the script is rehearsed: NULL, only counted. */
void* receive_room(int64_t bytes);
void release_room(void* room, int64_t bytes);
/* Memory of that size to send from; all messages are sent from the same. */
void* send_room(int64_t bytes);
/* A buffered send of so many bytes follows: MPI has room for it. */
void reserve_buffered(int64_t bytes);

/* After the rehearsal: fails, on all ranks, if the ranks of a host need more than it has free;
 * then makes the memory to send from. */
void allocate_memory(void);
/* The bytes that this rank needs for its messages. */
int64_t needed_memory(void);

#endif
