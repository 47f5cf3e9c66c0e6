#include <string.h>

#include "execute.h"

static void check(int error, const struct handle* handle) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(error, text, &length);
  fail("%s: %s", handle->of->path, text);
}

void open_mpi_file(const struct instruction* instruction, struct handle* handle,
                   const char* letters, size_t count) {
  const bool reads = memchr(letters, 'r', count) != NULL;
  const bool appends = memchr(letters, 'a', count) != NULL;
  const bool writes = appends || memchr(letters, 'w', count) != NULL;
  int mode = reads ? writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY : MPI_MODE_WRONLY;
  if (memchr(letters, 'c', count) != NULL) mode |= MPI_MODE_CREATE;
  if (appends) mode |= MPI_MODE_APPEND;
  check(MPI_File_open(communicator_of(instruction), handle->of->path, mode, MPI_INFO_NULL,
                      &handle->mpi),
        handle);
}

static int whence_of(int64_t from) {
  if (from == SEEK_FROM_BEGINNING) return MPI_SEEK_SET;
  return from == SEEK_FROM_POSITION ? MPI_SEEK_CUR : MPI_SEEK_END;
}

/* Returns the type of a view: its numbers are the displacement, the bytes of a block, a count and a
 * distance for each level, and the distance at which the whole is repeated. */
static MPI_Datatype type_of_view(const int64_t* numbers, int64_t count) {
  MPI_Datatype type;
  MPI_Type_contiguous((int)numbers[1], MPI_BYTE, &type);
  for (int64_t i = 2; i < count; i += 2) {
    MPI_Datatype larger;
    if (i + 1 < count)
      MPI_Type_create_hvector((int)numbers[i], 1, (MPI_Aint)numbers[i + 1], type, &larger);
    else
      MPI_Type_create_resized(type, 0, (MPI_Aint)numbers[i], &larger);
    MPI_Type_free(&type);
    type = larger;
  }
  MPI_Type_commit(&type);
  return type;
}

/* Without a view, positions in a trace are bytes of the file, and remain unchanged. */
static void set_view(const struct instruction* instruction, struct handle* handle) {
  char representation[] = "native";
  const bool has_view = instruction->count > 0;
  MPI_Offset position = 0;
  if (!has_view && handle->shown == 0) PMPI_File_get_position(handle->mpi, &position);
  MPI_Datatype type = MPI_BYTE;
  if (has_view) type = type_of_view(instruction->numbers, instruction->count);
  const MPI_Offset displacement = has_view ? instruction->numbers[0] : 0;
  check(MPI_File_set_view(handle->mpi, displacement, MPI_BYTE, type, representation, MPI_INFO_NULL),
        handle);
  if (has_view) MPI_Type_free(&type);
  note_view(instruction, handle);
  PMPI_File_seek(handle->mpi, position, MPI_SEEK_SET);
}

/* A data access: where it begins, and whether it makes a request. */
struct transfer {
  MPI_File file;
  MPI_Offset offset;
  void* buffer;
  const void* data;
  int count;
  MPI_Datatype type;
  MPI_Request* request;
};

/* TRANSFER(BEFORE, before, BEHIND, behind, where, last): the functions that read and write. The
 * parts of their names before and behind these words, whether they take an offset, and their last
 * argument. */
// clang-format off: it moves lists of macros to and fro
#define TRANSFERS(TRANSFER)                           \
  TRANSFER(, , , , HERE, STATUS)                      \
  TRANSFER(, , _AT, _at, THERE, STATUS)               \
  TRANSFER(, , _ALL, _all, HERE, STATUS)              \
  TRANSFER(, , _AT_ALL, _at_all, THERE, STATUS)       \
  TRANSFER(, , _SHARED, _shared, HERE, STATUS)        \
  TRANSFER(, , _ORDERED, _ordered, HERE, STATUS)      \
  TRANSFER(I, i, , , HERE, REQUEST)                   \
  TRANSFER(I, i, _AT, _at, THERE, REQUEST)            \
  TRANSFER(I, i, _ALL, _all, HERE, REQUEST)           \
  TRANSFER(I, i, _AT_ALL, _at_all, THERE, REQUEST)    \
  TRANSFER(I, i, _SHARED, _shared, HERE, REQUEST)     \
  TRANSFER(, , _ALL_BEGIN, _all_begin, HERE, )        \
  TRANSFER(, , _AT_ALL_BEGIN, _at_all_begin, THERE, ) \
  TRANSFER(, , _ORDERED_BEGIN, _ordered_begin, HERE, )
// clang-format on
#define HERE t->file
#define THERE t->file, t->offset
#define STATUS , MPI_STATUS_IGNORE
#define REQUEST , t->request

static int move(int operation, const struct transfer* t) {
  switch (operation) {
#define CALL(BEFORE, before, BEHIND, behind, where, last)                             \
  case OPERATION_FILE_##BEFORE##READ##BEHIND:                                         \
    return MPI_File_##before##read##behind(where, t->buffer, t->count, t->type last); \
  case OPERATION_FILE_##BEFORE##WRITE##BEHIND:                                        \
    return MPI_File_##before##write##behind(where, t->data, t->count, t->type last);
    TRANSFERS(CALL)
#undef CALL
    default:
      fail("the script has a call of MPI-IO of number %d", operation);
  }
}

static bool reads(int operation) {
  switch (operation) {
#define READS(BEFORE, before, BEHIND, behind, where, last) \
  case OPERATION_FILE_##BEFORE##READ##BEHIND:              \
    return true;
    TRANSFERS(READS)
#undef READS
    default:
      return false;
  }
}

static bool is_first_step(int operation) {
  return operation >= OPERATION_FILE_READ_ALL_BEGIN && operation < OPERATION_FILE_READ_ALL_END;
}

/* The second step of a split collective call, which frees the buffer of the first one. */
static void end_step(int operation, struct handle* handle) {
  int error = MPI_SUCCESS;
  switch (program.rehearsing ? -1 : operation) {
#define END(KIND, kind)                                                                 \
  case OPERATION_FILE_READ_##KIND##_END:                                                \
    error = MPI_File_read_##kind##_end(handle->mpi, handle->buffer, MPI_STATUS_IGNORE); \
    break;                                                                              \
  case OPERATION_FILE_WRITE_##KIND##_END:                                               \
    error = MPI_File_write_##kind##_end(handle->mpi, handle->data, MPI_STATUS_IGNORE);  \
    break;
    END(ALL, all)
    END(AT_ALL, at_all)
    END(ORDERED, ordered)
#undef END
    default:
      break;
  }
  check(error, handle);
  release_buffer(handle->buffer, handle->bytes);
}

static void transfer(const struct instruction* instruction, struct handle* handle) {
  const int operation = instruction->operation;
  const int64_t bytes = instruction->bytes;
  const bool receives = reads(operation);
  const bool makes_request =
      operation >= OPERATION_FILE_IREAD && operation <= OPERATION_FILE_IWRITE_SHARED;
  struct transfer t = {.file = handle->mpi,
                       .offset = instruction->count > 0 ? instruction->numbers[0] : 0,
                       .buffer = receives ? receive_buffer(bytes) : NULL,
                       .data = receives ? NULL : send_buffer(bytes)};
  if (!program.rehearsing) {
    const struct message m = message_of(instruction);
    t.count = m.count;
    t.type = m.type;
    if (makes_request) t.request = next_handle();
    check(move(operation, &t), handle);
    forget_message(&m);
  }
  if (is_first_step(operation)) {
    handle->buffer = t.buffer;
    handle->data = t.data;
    handle->bytes = receives ? bytes : 0;
    return;
  }
  if (!makes_request) {
    if (receives) release_buffer(t.buffer, bytes);
    return;
  }
  const struct request request = {.type = receives ? REQUEST_RECEIVE : REQUEST_SEND,
                                  .communicator = instruction->communicator,
                                  .tag = INT32_MIN, /* not named by any wait */
                                  .number = -1,
                                  .persistent = -1,
                                  .buffer = t.buffer,
                                  .bytes = receives ? bytes : 0};
  add_request(&request);
}

void call_mpi_file(const struct instruction* instruction, struct handle* handle) {
  const int operation = instruction->operation;
  const int64_t* const numbers = instruction->numbers;
  const bool is_executed = !program.rehearsing;
  switch (operation) {
    case OPERATION_FILE_CLOSE:
      if (is_executed) check(MPI_File_close(&handle->mpi), handle);
      return;
    case OPERATION_FILE_SEEK:
      if (is_executed) check(MPI_File_seek(handle->mpi, numbers[1], whence_of(numbers[0])), handle);
      return;
    case OPERATION_FILE_SEEK_SHARED:
      if (is_executed)
        check(MPI_File_seek_shared(handle->mpi, numbers[1], whence_of(numbers[0])), handle);
      return;
    case OPERATION_FILE_SYNC:
      if (is_executed) check(MPI_File_sync(handle->mpi), handle);
      return;
    case OPERATION_FILE_SET_VIEW:
      if (is_executed) set_view(instruction, handle);
      return;
    case OPERATION_FILE_READ_ALL_END:
    case OPERATION_FILE_WRITE_ALL_END:
    case OPERATION_FILE_READ_AT_ALL_END:
    case OPERATION_FILE_WRITE_AT_ALL_END:
    case OPERATION_FILE_READ_ORDERED_END:
    case OPERATION_FILE_WRITE_ORDERED_END:
      end_step(operation, handle);
      return;
    case OPERATION_FILE_SET_SIZE:
      if (is_executed) check(MPI_File_set_size(handle->mpi, instruction->bytes), handle);
      return;
    case OPERATION_FILE_PREALLOCATE:
      if (is_executed) check(MPI_File_preallocate(handle->mpi, instruction->bytes), handle);
      return;
    default:
      transfer(instruction, handle);
  }
}
