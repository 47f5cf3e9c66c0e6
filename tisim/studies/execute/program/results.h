/* The report of rank 0, and what each rank leaves behind while it runs. */
#ifndef TISIM_RESULTS_H
#define TISIM_RESULTS_H

#include "script.h"

void open_results(void);
void report_start(void);
/* A repetition has ended: when each rank did, in seconds after the common start, and by how much it
 * missed that, and how many seconds of its processor it took. All ranks call it. */
void report_repetition(int repetition, double end, double late, double processor_time);
void close_results(void);

/* This rank begins an instruction. */
void show_instruction(const struct instruction* instruction);
/* It has ended; with --timeline it is written down, during the last repetition. */
void log_instruction(const struct instruction* instruction, double begin, double end);

#endif
