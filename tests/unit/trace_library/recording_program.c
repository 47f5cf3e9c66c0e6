/* A C11 program that records itself through libtisim_trace; run by the tests. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tisim_trace.h"

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void pass_around(tt_rank* rank, uint32_t own, uint32_t ranks, int iterations) {
  const int send = tt_word(rank, "send {} {} {}", 1);
  const int receive = tt_word(rank, "recv {} {} {} # source={}", 1);
  require(send > 0 && receive > send, "the words have numbers");
  for (int i = 0; i < iterations; ++i) {
    const int64_t to[] = {(own + 1) % ranks, 0, 4096};
    const int64_t from[] = {(own + ranks - 1) % ranks, 0, 4096, (own + ranks - 1) % ranks};
    require(tt_compute(rank, 1000000 + (uint64_t)i % 3) == TT_OK, "a computation is recorded");
    require(tt_call(rank, send, to) == TT_OK, "a call is recorded");
    require(tt_call(rank, receive, from) == TT_OK, "a call is recorded");
  }
}

/* Prints the size of the merged part, and the maximum memory of a rank. */
static void ring(const char* directory, uint32_t ranks, int iterations) {
  tt_bytes all = {0};
  size_t most = 0;
  for (uint32_t own = 0; own < ranks; ++own) {
    char path[4096];
    snprintf(path, sizeof path, "%s/part-%u", directory, own);
    tt_rank* const rank = tt_rank_open(own, ranks, 0, own % 2 == 0 ? path : NULL);
    require(rank != NULL && *tt_error(rank) == '\0', "a rank is opened");
    require(tt_comment(rank, "recorded by a test") == TT_OK, "a comment is recorded");
    pass_around(rank, own, ranks, iterations);
    if (tt_memory(rank) > most) most = tt_memory(rank);
    require(tt_calls(rank) == 3 * (uint64_t)iterations + 1, "calls are counted");
    require(tt_rank_end(rank) == TT_OK, "a rank ends");
    tt_bytes part = {0}, merged = {0};
    require(tt_rank_part(rank, &part) == TT_OK, "a rank gives its part");
    if (own == 0) {
      merged = part;
    } else {
      require(tt_merge(&all, &part, &merged) == TT_OK, "parts are merged");
      require(tt_merge(&merged, &part, &all) == TT_DAMAGED, "a rank is in one part only");
      tt_free(&part);
    }
    tt_free(&all);
    all = merged;
    tt_rank_close(rank);
  }
  char path[4096];
  uint32_t incomplete = 1;
  snprintf(path, sizeof path, "%s/ring.tit", directory);
  require(tt_write_trace(&all, path, NULL, &incomplete) == TT_OK && incomplete == 0,
          "it is written");
  require(tt_write_trace(&all, "/nowhere/ring.tit", NULL, NULL) == TT_FILE, "it cannot be written");
  printf("%zu %zu\n", all.size, most);
  tt_free(&all);
}

static long most_kilobytes(void) {
  long most = -1;
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (sscanf(line, "VmHWM: %ld", &most) == 1) break;
  }
  if (status != NULL) fclose(status);
  return most;
}

/* Prints by how many kilobytes the process grew while recording. */
static void random_calls(const char* path, int calls) {
  tt_rank* const rank = tt_rank_open(0, 1, 0, path);
  const int send = tt_word(rank, "send {} {} {}", 1);
  uint64_t state = 1;
  long before = 0;
  for (int i = 0; i < calls; ++i) {
    if (i == calls / 100) before = most_kilobytes();
    int64_t numbers[3];
    for (int k = 0; k < 3; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      numbers[k] = (int64_t)(state >> (k == 2 ? 34 : 58));
    }
    require(tt_call(rank, send, numbers) == TT_OK, "a call is recorded");
    require(tt_memory(rank) <= 1 << 20, "the memory is bounded");
    if (i % 10000 == 0) require(tt_flush(rank) == TT_OK, "what was recorded is written");
  }
  require(tt_rank_end(rank) == TT_OK, "a rank ends");
  printf("%ld\n", most_kilobytes() - before);
  tt_rank_close(rank);
}

static void killed(const char* path) {
  tt_rank* const rank = tt_rank_open(0, 2, 0, path);
  pass_around(rank, 0, 2, 100);
  tt_flush(rank);
  pass_around(rank, 0, 2, 100);
  raise(SIGKILL);
}

static void mistakes(void) {
  tt_bytes part = {0};
  const int64_t numbers[] = {1, 2, 3};
  const tt_bytes rubbish = {"rubbish", 7};
  tt_rank* rank = tt_rank_open(0, 1, 0, NULL);
  require(tt_interface() == TT_INTERFACE, "the header is that of the library");
  require(tt_word(rank, "", 0) == TT_INVALID, "a word has a text");
  require(tt_word(rank, "two\nlines", 0) == TT_INVALID, "a word is one line");
  require(tt_word(rank, "# comment", 0) == TT_INVALID, "a word is not a comment");
  require(tt_call(rank, 0, numbers) == TT_INVALID, "word 0 is that of tt_compute");
  require(tt_call(rank, 7, numbers) == TT_INVALID, "a call has a word");
  require(tt_call(rank, tt_word(rank, "send {}", 1), NULL) == TT_INVALID, "it has arguments");
  require(tt_compute(rank, UINT64_MAX) == TT_INVALID, "an amount has 63 bits");
  require(tt_compute(NULL, 1) == TT_INVALID && tt_flush(NULL) == TT_INVALID, "there is a rank");
  require(tt_rank_end(rank) == TT_OK, "a rank ends");
  require(tt_compute(rank, 1) == TT_INVALID, "an ended rank records nothing");
  tt_rank_close(rank);
  tt_rank_close(NULL);
  require(tt_merge(&rubbish, &rubbish, &part) == TT_DAMAGED, "rubbish is refused");
  require(tt_part_of_file("/nowhere/part", &part) == TT_FILE, "a file is there");
  rank = tt_rank_open(5, 5, 0, NULL);
  require(tt_compute(rank, 1) == TT_INVALID && *tt_error(rank) != '\0', "rank 5 of 5 is none");
  tt_rank_close(rank);
  rank = tt_rank_open(0, 1, 0, "/dev/full");
  require(tt_compute(rank, 1) == TT_FILE, "a full disk stops the recording");
  puts(tt_error(rank));
  tt_rank_close(rank);
}

int main(int argc, char** argv) {
  require(argc >= 2, "which test?");
  if (strcmp(argv[1], "ring") == 0) ring(argv[2], (uint32_t)atoi(argv[3]), atoi(argv[4]));
  if (strcmp(argv[1], "random") == 0) random_calls(argv[2], atoi(argv[3]));
  if (strcmp(argv[1], "killed") == 0) killed(argv[2]);
  if (strcmp(argv[1], "mistakes") == 0) mistakes();
  if (strcmp(argv[1], "part") == 0) {
    tt_bytes part = {0};
    require(tt_part_of_file(argv[2], &part) == TT_OK, "a part is read");
    printf("%zu\n", part.size);
    if (argc > 3) require(tt_write_trace(&part, argv[3], NULL, NULL) == TT_OK, "it is written");
    tt_free(&part);
  }
  return 0;
}
