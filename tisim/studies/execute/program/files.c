#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "execute.h"

static struct handle* handles;

/* Returns the link to the file with a number; it contains NULL if there is none. */
static struct handle** find(int number) {
  struct handle** link = &handles;
  while (*link != NULL && (*link)->number != number) link = &(*link)->next;
  return link;
}

static void forget(struct handle** link) {
  struct handle* const forgotten = *link;
  *link = forgotten->next;
  free(forgotten);
}

static bool has(const char* letters, size_t count, char letter) {
  return memchr(letters, letter, count) != NULL;
}

static int flags_of(const char* letters, size_t count) {
  const bool writes = has(letters, count, 'w') || has(letters, count, 'a');
  int flags = has(letters, count, 'r') ? writes ? O_RDWR : O_RDONLY : O_WRONLY;
  if (has(letters, count, 'c')) flags |= O_CREAT;
  if (has(letters, count, 't')) flags |= O_TRUNC;
  if (has(letters, count, 'a')) flags |= O_APPEND;
  return flags;
}

/* Numbers of the instruction: size of the file, number of flag letters, the letters, the name. */
static void open_file(const struct instruction* instruction) {
  enum { SIZE, LETTERS, FIRST };
  char letters[8] = "";
  const int64_t* const numbers = instruction->numbers;
  const size_t count = (size_t)numbers[LETTERS];
  for (size_t i = 0; i < count && i < sizeof letters; i++) letters[i] = (char)numbers[FIRST + i];
  const int64_t name = FIRST + (int64_t)count;
  struct handle* const opened = memory_for(NULL, 1, sizeof *opened);
  *opened = (struct handle){.number = instruction->peer, .file = -1, .next = handles};
  handles = opened;
  opened->of = scratch_file_of(numbers + name, instruction->count - name);
  opened->is_mpi = instruction->operation == OPERATION_FILE_OPEN;
  if (program.rehearsing) {
    note_open(opened->of, has(letters, count, 'c'), numbers[SIZE]);
  } else if (opened->is_mpi) {
    open_mpi_file(instruction, opened, letters, count);
  } else {
    opened->file = open(opened->of->path, flags_of(letters, count), 0666);
    if (opened->file < 0) fail("open %s: %s", opened->of->path, strerror(errno));
  }
}

/* Large calls may return partial transfers. */
static void transfer(const struct instruction* instruction, const struct handle* handle) {
  const int operation = instruction->operation;
  const bool reads = operation == OPERATION_READ || operation == OPERATION_PREAD;
  const int64_t bytes = instruction->bytes;
  const int64_t offset = instruction->count > 0 ? instruction->numbers[0] : 0;
  char* const buffer = reads ? receive_buffer(bytes) : NULL;
  const char* const data = reads ? NULL : send_buffer(bytes);
  int64_t done = 0;
  do {
    if (program.rehearsing) break;
    const size_t left = (size_t)(bytes - done);
    ssize_t moved;
    if (operation == OPERATION_READ)
      moved = read(handle->file, buffer + done, left);
    else if (operation == OPERATION_WRITE)
      moved = write(handle->file, data + done, left);
    else if (operation == OPERATION_PREAD)
      moved = pread(handle->file, buffer + done, left, (off_t)(offset + done));
    else
      moved = pwrite(handle->file, data + done, left, (off_t)(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) fail("%s: %s", handle->of->path, strerror(errno));
    if (moved == 0) break;
    done += moved;
  } while (done < bytes);
  if (reads) release_buffer(buffer, bytes);
}

void note_view(const struct instruction* instruction, struct handle* handle) {
  const int64_t* const numbers = instruction->numbers;
  const int64_t count = instruction->count;
  if (handle->shown > 0 || count > 0) handle->position = 0;
  handle->shown = count > 0 ? numbers[1] : 0;
  for (int64_t i = 2; i + 1 < count; i += 2) handle->shown *= numbers[i];
  if (count == 0) return;
  handle->displacement = numbers[0];
  handle->distance = numbers[count - 1];
}

/* Returns a file length that covers all bytes before a position. */
static int64_t reach(const struct handle* handle, int64_t position) {
  if (handle->shown == 0) return position;
  const int64_t turns = (position + handle->shown - 1) / handle->shown;
  return handle->displacement + turns * handle->distance;
}

/* Tracks the position, to determine the length of files that are only read. */
static void rehearse(const struct instruction* instruction, struct handle* handle) {
  switch (instruction->operation) {
    case OPERATION_READ:
    case OPERATION_FILE_READ:
    case OPERATION_FILE_READ_ALL:
    case OPERATION_FILE_IREAD:
    case OPERATION_FILE_IREAD_ALL:
    case OPERATION_FILE_READ_SHARED:
    case OPERATION_FILE_READ_ORDERED:
    case OPERATION_FILE_IREAD_SHARED:
    case OPERATION_FILE_READ_ALL_BEGIN:
    case OPERATION_FILE_READ_ORDERED_BEGIN:
      handle->position += instruction->bytes;
      note_read(handle->of, reach(handle, handle->position));
      break;
    case OPERATION_WRITE:
    case OPERATION_FILE_WRITE:
    case OPERATION_FILE_WRITE_ALL:
    case OPERATION_FILE_IWRITE:
    case OPERATION_FILE_IWRITE_ALL:
    case OPERATION_FILE_WRITE_ALL_BEGIN:
      handle->position += instruction->bytes;
      break;
    case OPERATION_PREAD:
    case OPERATION_FILE_READ_AT:
    case OPERATION_FILE_READ_AT_ALL:
    case OPERATION_FILE_IREAD_AT:
    case OPERATION_FILE_IREAD_AT_ALL:
    case OPERATION_FILE_READ_AT_ALL_BEGIN:
      note_read(handle->of, reach(handle, instruction->numbers[0] + instruction->bytes));
      break;
    case OPERATION_FILE_SET_VIEW:
      note_view(instruction, handle);
      break;
    case OPERATION_LSEEK:
    case OPERATION_FILE_SEEK:
      if (instruction->numbers[0] == SEEK_FROM_BEGINNING) handle->position = 0;
      if (instruction->numbers[0] != SEEK_FROM_END) handle->position += instruction->numbers[1];
      break;
    default:
      break;
  }
}

static void seek(const struct instruction* instruction, const struct handle* handle) {
  const int64_t from = instruction->numbers[0];
  const int whence = from == SEEK_FROM_BEGINNING  ? SEEK_SET
                     : from == SEEK_FROM_POSITION ? SEEK_CUR
                                                  : SEEK_END;
  if (lseek(handle->file, (off_t)instruction->numbers[1], whence) < 0)
    fail("lseek in %s: %s", handle->of->path, strerror(errno));
}

/* Failures are not errors: the program may have opened missing files, or created existing ones. */
static void call_by_name(const struct instruction* instruction) {
  struct stat status;
  struct scratch_file* const file = scratch_file_of(instruction->numbers, instruction->count);
  if (instruction->operation == OPERATION_MKDIR) note_directory(file);
  if (program.rehearsing) return;
  int failed = 0;
  if (instruction->operation == OPERATION_STAT) failed = stat(file->path, &status);
  if (instruction->operation == OPERATION_UNLINK) failed = unlink(file->path);
  if (instruction->operation == OPERATION_MKDIR) failed = mkdir(file->directory, 0777);
  (void)failed;
}

static void call_posix(const struct instruction* instruction, struct handle* handle) {
  const int operation = instruction->operation;
  switch (operation) {
    case OPERATION_READ:
    case OPERATION_WRITE:
    case OPERATION_PREAD:
    case OPERATION_PWRITE:
      transfer(instruction, handle);
      return;
    case OPERATION_LSEEK:
      if (!program.rehearsing) seek(instruction, handle);
      return;
    case OPERATION_FSYNC:
      if (!program.rehearsing && fsync(handle->file) != 0)
        fail("fsync of %s: %s", handle->of->path, strerror(errno));
      return;
    case OPERATION_CLOSE:
      if (!program.rehearsing && close(handle->file) != 0)
        fail("close of %s: %s", handle->of->path, strerror(errno));
      return;
    default:
      fail("the script has a call on a file of number %d", operation);
  }
}

void call_file(const struct instruction* instruction) {
  switch (instruction->operation) {
    case OPERATION_OPEN:
    case OPERATION_FILE_OPEN:
      open_file(instruction);
      return;
    case OPERATION_STAT:
    case OPERATION_UNLINK:
    case OPERATION_MKDIR:
      call_by_name(instruction);
      return;
    default:
      break;
  }
  struct handle** const link = find(instruction->peer);
  struct handle* const handle = *link;
  if (handle == NULL) fail("the handle %d is not open", instruction->peer);
  if (program.rehearsing) rehearse(instruction, handle);
  if (handle->is_mpi)
    call_mpi_file(instruction, handle);
  else
    call_posix(instruction, handle);
  const int operation = instruction->operation;
  if (operation == OPERATION_CLOSE || operation == OPERATION_FILE_CLOSE) forget(link);
}

/* MPI closes files collectively, which a trace that leaves a file open need not do. */
void close_files(void) {
  for (; handles != NULL; forget(&handles))
    if (!handles->is_mpi && handles->file >= 0) close(handles->file);
}
