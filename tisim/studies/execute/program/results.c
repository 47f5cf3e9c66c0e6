#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "execute.h"

/* Current activity of a rank: a file that can be read if it hangs. */
struct state {
  int32_t kind;
  int32_t operation;
  int64_t line;
};

/* A row of the timeline. */
struct row {
  double begin, end;
  uint32_t line;
  uint16_t kind, operation;
};

static FILE* results; /* on rank 0 */
static FILE* timeline;
static struct state own_state; /* if no file can be mapped */
static struct state* state = &own_state;

static FILE* create(const char* name, int rank) {
  char path[4096];
  const char* const directory = program.options.results;
  if (rank < 0)
    snprintf(path, sizeof path, "%s/%s", directory, name);
  else
    snprintf(path, sizeof path, "%s/%s-%d", directory, name, rank);
  FILE* const file = fopen(path, "w+");
  if (file == NULL) fail("%s: %s; all hosts must share this directory", path, strerror(errno));
  return file;
}

static void map_state(void) {
  FILE* const file = create("state", program.rank);
  if (ftruncate(fileno(file), sizeof *state) == 0) {
    void* const mapped =
        mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (mapped != MAP_FAILED) state = mapped;
  }
  fclose(file);
}

void open_results(void) {
  if (program.options.results == NULL) {
    results = stdout;
    return;
  }
  map_state();
  if (program.rank == 0) results = create("results", -1);
  if (program.options.timeline) {
    timeline = create("calls", program.rank);
    setvbuf(timeline, NULL, _IOFBF, 1 << 20);
  }
}

void report_start(void) {
  const double error = clock_error();
  long long bytes = needed_memory(), most = 0;
  double computing = computing_time(), longest = 0;
  PMPI_Reduce(&bytes, &most, 1, MPI_LONG_LONG, MPI_MAX, 0, program.control);
  PMPI_Reduce(&computing, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, program.control);
  if (program.rank != 0) return;
  fprintf(results, "clock_error %.9g\ncomputing %.9g\nmemory %lld\n", error, longest, most);
  if (loop_speed() > 0) fprintf(results, "instructions_per_second %.9g\n", loop_speed());
  fflush(results);
}

void report_repetition(int repetition, double end, double late, double processor_time) {
  double* const ends = malloc((size_t)program.ranks * sizeof *ends);
  double latest = 0, processor_sum = 0;
  if (ends == NULL) fail("no memory");
  PMPI_Gather(&end, 1, MPI_DOUBLE, ends, 1, MPI_DOUBLE, 0, program.control);
  PMPI_Reduce(&late, &latest, 1, MPI_DOUBLE, MPI_MAX, 0, program.control);
  PMPI_Reduce(&processor_time, &processor_sum, 1, MPI_DOUBLE, MPI_SUM, 0, program.control);
  if (program.rank == 0) {
    if (repetition < 0) {
      fprintf(results, "warm_up\n");
    } else {
      fprintf(results, "repetition %d late %.9g processors %.9g ends", repetition, latest,
              processor_sum);
      for (int rank = 0; rank < program.ranks; rank++) fprintf(results, " %.9g", ends[rank]);
      fputc('\n', results);
    }
    if (fflush(results) != 0) fail("the results cannot be written: %s", strerror(errno));
  }
  free(ends);
}

void close_results(void) {
  if (timeline != NULL && fclose(timeline) != 0)
    fail("the timeline cannot be written: %s", strerror(errno));
  if (program.rank != 0) return;
  fprintf(results, "done\n");
  fflush(results);
}

void show_instruction(const struct instruction* instruction) {
  state->kind = instruction->kind;
  state->operation = instruction->operation;
  state->line = program.line;
}

void log_instruction(const struct instruction* instruction, double begin, double end) {
  /* Skips instructions that are not calls. A sendrecv is one call in two instructions. */
  const enum role role = traits_of(instruction)->role;
  if (role == ROLE_EXCHANGE || role == ROLE_NUMBER_REQUEST || role == ROLE_NUMBER_PERSISTENT)
    return;
  const struct row row = {begin, end, program.line, (uint16_t)instruction->kind,
                          (uint16_t)instruction->operation};
  fwrite(&row, sizeof row, 1, timeline);
}

void fail(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof text) length = sizeof text - 1;
  /* Only the first failing rank reports the reason. */
  bool is_told = false;
  if (program.options.results != NULL) {
    char path[4096];
    snprintf(path, sizeof path, "%s/error", program.options.results);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file >= 0) {
      is_told = write(file, text, (size_t)length) == length;
      close(file);
    } else {
      is_told = errno == EEXIST;
    }
  }
  if (!is_told) fprintf(stderr, "tisim: rank %d: %s\n", program.rank, text);
  PMPI_Abort(MPI_COMM_WORLD, 2);
  abort();
}
