#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "execute.h"

#define BUFFER_SIZE (1 << 16)

static const char magic[] = "tisim script\n";

enum { CODE_END, CODE_LINE, CODE_COMPUTE, CODE_KEEP, CODE_ONCE, FIRST_NUMBER };

static int file = -1;
static char path[4096];
static unsigned char buffer[BUFFER_SIZE];
static size_t filled, at;
static uint32_t line; /* of the previous statement */
static struct instruction* kept;
static uint32_t kept_count;    /* since the script was rewound */
static uint32_t kept_capacity; /* instructions with memory for their numbers */
static struct instruction once;

static void refill(void) {
  ssize_t count;
  do count = read(file, buffer, BUFFER_SIZE);
  while (count < 0 && errno == EINTR);
  if (count < 0) fail("%s: %s", path, strerror(errno));
  if (count == 0) fail("%s ends too early; write the scripts again", path);
  filled = (size_t)count;
  at = 0;
}

static unsigned next_byte(void) {
  if (at == filled) refill();
  return buffer[at++];
}

static uint64_t varint(void) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const unsigned byte = next_byte();
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("%s is damaged; write the scripts again", path);
}

static int64_t zigzag(void) {
  const uint64_t value = varint();
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static double number(void) {
  uint64_t bits = 0;
  for (int shift = 0; shift < 64; shift += 8) bits |= (uint64_t)next_byte() << shift;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void read_fields(struct instruction* into) {
  into->kind = (int)varint();
  if (into->kind < 0 || into->kind >= KINDS) fail("%s is damaged; write the scripts again", path);
  into->operation = (int)varint();
  into->flags = (int)varint();
  into->communicator = (int)varint();
  into->peer = (int)zigzag();
  into->tag = (int)zigzag();
  into->bytes = zigzag();
  into->amount = number();
  into->count = (int64_t)varint();
  into->numbers = realloc(into->numbers, (size_t)(into->count + 1) * sizeof *into->numbers);
  if (into->numbers == NULL) fail("no memory for an instruction of %s", path);
  for (int64_t i = 0; i < into->count; i++) into->numbers[i] = zigzag();
}

static const struct instruction* read_kept(void) {
  if (kept_count == SCRIPT_KEPT_INSTRUCTIONS) fail("%s is damaged; write the scripts again", path);
  if (kept_count == kept_capacity) {
    const uint32_t larger = kept_capacity == 0 ? 256 : 2 * kept_capacity;
    kept = realloc(kept, larger * sizeof *kept);
    if (kept == NULL) fail("no memory for the instructions of %s", path);
    memset(kept + kept_capacity, 0, (larger - kept_capacity) * sizeof *kept);
    kept_capacity = larger;
  }
  read_fields(&kept[kept_count]);
  return &kept[kept_count++];
}

static void read_header(void) {
  for (const char* next = magic; *next != '\0'; next++)
    if (next_byte() != (unsigned char)*next) fail("%s is not a script", path);
  if (varint() != SCRIPT_VERSION) fail("%s was written for another version of this program", path);
  const uint64_t ranks = varint();
  const uint64_t rank = varint();
  if (ranks != (uint64_t)program.ranks)
    fail("the trace has %llu ranks, but %d were started; start %llu (mpirun -n %llu)",
         (unsigned long long)ranks, program.ranks, (unsigned long long)ranks,
         (unsigned long long)ranks);
  if (rank != (uint64_t)program.rank) fail("%s is the script of another rank", path);
}

void open_script(const char* directory) {
  /* If too many ranks were started, the excess ones read a lower rank's script to report it. */
  for (int rank = program.rank; rank >= 0 && file<0; rank -= rank> 0 ? (rank + 1) / 2 : 1) {
    const int length = snprintf(path, sizeof path, "%s/rank-%d.script", directory, rank);
    if (length < 0 || (size_t)length >= sizeof path) fail("the name %s is too long", directory);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno != ENOENT) break;
  }
  if (file < 0)
    fail("%s: %s; all hosts must share the directory of the scripts", path, strerror(errno));
  rewind_script();
}

void rewind_script(void) {
  if (lseek(file, 0, SEEK_SET) != 0) fail("%s: %s", path, strerror(errno));
  filled = at = 0;
  kept_count = 0;
  line = 0;
  read_header();
}

const struct instruction* next_instruction(uint32_t* of_line) {
  *of_line = ++line;
  for (;;) {
    const uint64_t code = varint();
    switch (code) {
      case CODE_END:
        return NULL;
      case CODE_LINE:
        *of_line = line = (uint32_t)varint();
        continue;
      case CODE_COMPUTE:
        once.kind = KIND_COMPUTE;
        once.amount = number();
        return &once;
      case CODE_KEEP:
        return read_kept();
      case CODE_ONCE:
        read_fields(&once);
        return &once;
      default:
        if (code - FIRST_NUMBER >= kept_count) fail("%s is damaged; write the scripts again", path);
        return &kept[code - FIRST_NUMBER];
    }
  }
}
