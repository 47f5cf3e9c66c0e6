/* usage: tisim_execute SCRIPTS [results=DIR] [repeat=N] [warm_up=N] [speed=UNITS] [timeline=1]
 *                      [compute=sleep|spin|instructions|none] [scratch=DIR]
 *
 * SCRIPTS is a directory with rank-0.script and so on, which tisim has written from a trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"

struct program program;

static void execute(const struct instruction* instruction) {
  switch (traits_of(instruction)->role) {
    case ROLE_END:
    case ROLE_NOTHING:
    case ROLE_CUSTOM:
    case ROLE_THREADS:
    case ROLE_FILE_OFFSET:
    case ROLE_LAUNCH:
      break; /* no script has them */
    case ROLE_COMPUTE:
      compute(instruction->amount);
      return;
    case ROLE_SLEEP:
      sleep_for(instruction->amount);
      return;
    case ROLE_SEND:
      send_message(instruction);
      return;
    case ROLE_RECEIVE:
      receive_message(instruction);
      return;
    case ROLE_EXCHANGE:
      begin_send_receive(instruction);
      return;
    case ROLE_RECEIVE_HALF:
      finish_send_receive(instruction);
      return;
    case ROLE_COMPLETE_ONE:
    case ROLE_COMPLETE_LAST:
    case ROLE_COMPLETE_COLLECTIVE:
      complete_one(instruction);
      return;
    case ROLE_COMPLETE_ALL:
    case ROLE_COMPLETE_ANY:
    case ROLE_COMPLETE_SOME:
      complete_several(instruction);
      return;
    case ROLE_CANCEL:
      cancel_request(instruction);
      return;
    case ROLE_FREE_REQUEST:
      free_request(instruction);
      return;
    case ROLE_PROBE:
      probe_message(instruction);
      return;
    case ROLE_MAKE_PERSISTENT:
      make_persistent(instruction);
      return;
    case ROLE_START:
      start_persistent(instruction);
      return;
    case ROLE_START_ALL:
      start_all_persistent(instruction);
      return;
    case ROLE_NUMBER_REQUEST:
      number_last_request((int)instruction->bytes);
      return;
    case ROLE_NUMBER_PERSISTENT:
      number_last_persistent((int)instruction->bytes);
      return;
    case ROLE_COLLECTIVE:
      call_collective(instruction);
      return;
    case ROLE_MAKE_COMMUNICATOR:
      make_communicator(instruction);
      return;
    case ROLE_FREE_COMMUNICATOR:
      free_communicator(instruction);
      return;
    case ROLE_FILE:
      call_file(instruction);
      return;
    case ROLE_WINDOW:
      call_window(instruction);
      return;
  }
  fail("the script has an instruction of kind %d", instruction->kind);
}

/* `log_from`: the date that the timeline begins at; negative: there is none. */
static void run_script(double log_from) {
  const struct instruction* instruction;
  rewind_script();
  while ((instruction = next_instruction(&program.line)) != NULL) {
    show_instruction(instruction);
    if (log_from < 0) {
      execute(instruction);
      continue;
    }
    const double begin = now();
    execute(instruction);
    log_instruction(instruction, begin - log_from, now() - log_from);
  }
  complete_all();
}

static void clean_up(void) {
  close_files();
  free_windows();
  free_persistent();
  free_communicators();
}

static double number_of(const char* word, const char* value, double least) {
  char* end;
  const double number = strtod(value, &end);
  if (*value == '\0' || *end != '\0' || !(number >= least))
    fail("%s is not a number, or one below %g", word, least);
  return number;
}

static enum compute_mode mode_of(const char* value) {
  static const char* const names[] = {"none", "sleep", "spin", "instructions"};
  for (int mode = 0; mode < 4; mode++)
    if (strcmp(value, names[mode]) == 0) return (enum compute_mode)mode;
  fail("compute=%s is none of sleep, spin, instructions, none", value);
}

static void take_options(int count, char** words) {
  struct options* const options = &program.options;
  *options =
      (struct options){.repetitions = 5, .warm_ups = 1, .compute = COMPUTE_SLEEP, .speed = 1e9};
  /* First, since it says where errors go. */
  for (int i = 2; i < count; i++)
    if (strncmp(words[i], "results=", 8) == 0) options->results = words[i] + 8;
  if (count < 2) fail("the directory of the scripts is missing");
  options->scripts = words[1];
  for (int i = 2; i < count; i++) {
    const char* const word = words[i];
    const char* const equals = strchr(word, '=');
    const size_t length = equals == NULL ? 0 : (size_t)(equals - word);
    const char* const value = equals == NULL ? "" : equals + 1;
    if (length == 6 && strncmp(word, "repeat", length) == 0)
      options->repetitions = (int)number_of(word, value, 1);
    else if (length == 7 && strncmp(word, "warm_up", length) == 0)
      options->warm_ups = (int)number_of(word, value, 0);
    else if (length == 5 && strncmp(word, "speed", length) == 0)
      options->speed = number_of(word, value, 1e-300);
    else if (length == 7 && strncmp(word, "compute", length) == 0)
      options->compute = mode_of(value);
    else if (length == 8 && strncmp(word, "timeline", length) == 0)
      options->timeline = number_of(word, value, 0) != 0;
    else if (length == 7 && strncmp(word, "scratch", length) == 0)
      options->scratch = value;
    else if (length != 7 || strncmp(word, "results", length) != 0)
      fail(
          "%s is not an option; they are results, repeat, warm_up, speed, timeline, compute and "
          "scratch",
          word);
  }
  if (options->timeline && options->results == NULL) fail("timeline=1 needs results=DIR");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  PMPI_Comm_dup(MPI_COMM_WORLD, &program.control);
  PMPI_Comm_rank(MPI_COMM_WORLD, &program.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &program.ranks);
  take_options(argc, argv);
  open_results();
  open_script(program.options.scripts);
  program.rehearsing = true;
  run_script(-1);
  clean_up();
  program.rehearsing = false;
  allocate_memory();
  align_clocks();
  prepare_computations();
  report_start();
  const int last = program.options.repetitions - 1;
  for (int repetition = -program.options.warm_ups; repetition <= last; repetition++) {
    double late;
    prepare_files();
    const double start = start_together(&late), used = processor_time();
    run_script(program.options.timeline && repetition == last ? start : -1);
    const double end = now() - start, taken = processor_time() - used;
    clean_up();
    wait_for_all();
    report_repetition(repetition, end, late, taken);
  }
  remove_files();
  close_results();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
