/* usage: tisim_execute SCRIPTS [results=DIR] [repeat=N] [warm_up=N] [speed=UNITS] [timeline=1]
 *                      [compute=sleep|spin|instructions|none] [scratch=DIR]
 *
 * SCRIPTS is a directory with rank-0.script and so on, written by tisim from a trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"

struct program program;

static void execute(const struct instruction* instruction) {
  static void (*const actions[])(const struct instruction*) = {
      [ROLE_COMPUTE] = compute,
      [ROLE_SLEEP] = sleep_for,
      [ROLE_SEND] = send_message,
      [ROLE_RECEIVE] = receive_message,
      [ROLE_EXCHANGE] = begin_send_receive,
      [ROLE_RECEIVE_HALF] = finish_send_receive,
      [ROLE_COMPLETE_ONE] = complete_one,
      [ROLE_COMPLETE_LAST] = complete_one,
      [ROLE_COMPLETE_COLLECTIVE] = complete_one,
      [ROLE_COMPLETE_ALL] = complete_several,
      [ROLE_COMPLETE_ANY] = complete_several,
      [ROLE_COMPLETE_SOME] = complete_several,
      [ROLE_CANCEL] = cancel_request,
      [ROLE_FREE_REQUEST] = free_request,
      [ROLE_PROBE] = probe_message,
      [ROLE_MAKE_PERSISTENT] = make_persistent,
      [ROLE_START] = start_persistent,
      [ROLE_START_ALL] = start_all_persistent,
      [ROLE_NUMBER_REQUEST] = number_last_request,
      [ROLE_NUMBER_PERSISTENT] = number_last_persistent,
      [ROLE_COLLECTIVE] = call_collective,
      [ROLE_MAKE_COMMUNICATOR] = make_communicator,
      [ROLE_FREE_COMMUNICATOR] = free_communicator,
      [ROLE_FILE] = call_file,
      [ROLE_WINDOW] = call_window,
  };
  const size_t role = (size_t)traits_of(instruction)->role;
  if (role >= sizeof actions / sizeof *actions || actions[role] == NULL) {
    fail("the script has an instruction of kind %d", instruction->kind);
  }
  actions[role](instruction);
}

/* `log_from`: the date at which the timeline begins; negative: no timeline. */
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
  fail("compute=%s is not one of sleep, spin, instructions, none", value);
}

/* Returns the value after NAME= in a word; NULL: it is another option. */
static const char* value_of(const char* word, const char* name) {
  const size_t length = strlen(name);
  return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static void take_options(int count, char** words) {
  struct options* const options = &program.options;
  *options =
      (struct options){.repetitions = 5, .warm_ups = 1, .compute = COMPUTE_SLEEP, .speed = 1e9};
  const char* value;
  /* First, since it determines where errors are written. */
  for (int i = 2; i < count; i++)
    if ((value = value_of(words[i], "results")) != NULL) options->results = value;
  if (count < 2) fail("the directory of the scripts is missing");
  options->scripts = words[1];
  for (int i = 2; i < count; i++) {
    const char* const word = words[i];
    if ((value = value_of(word, "repeat")) != NULL)
      options->repetitions = (int)number_of(word, value, 1);
    else if ((value = value_of(word, "warm_up")) != NULL)
      options->warm_ups = (int)number_of(word, value, 0);
    else if ((value = value_of(word, "speed")) != NULL)
      options->speed = number_of(word, value, 1e-300);
    else if ((value = value_of(word, "compute")) != NULL)
      options->compute = mode_of(value);
    else if ((value = value_of(word, "timeline")) != NULL)
      options->timeline = number_of(word, value, 0) != 0;
    else if ((value = value_of(word, "scratch")) != NULL)
      options->scratch = value;
    else if (value_of(word, "results") == NULL)
      fail(
          "%s is not an option; options are results, repeat, warm_up, speed, timeline, compute and "
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
