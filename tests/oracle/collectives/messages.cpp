// Makes collective MPI calls in SimGrid, with marks in SimGrid's log by which `messages.py` assigns
// messages to calls.
//
//   messages DIR      every rank runs the lines of DIR/rank-<rank>.txt
//
// A line is a collective of a time-independent trace without its rank ("bcast 100 0 6"), or
// "choose <operation> <algorithm>" (the same on every rank), or "split <color> <key>": the next
// lines run on that part of the world, until "world". "comm_split <color> <key>" and "comm_dup"
// only create a communicator, as separate calls. Non-blocking collectives are waited for at once.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace simgrid::smpi {
int barrier__ompi_basic_linear(MPI_Comm comm);
namespace colls {
void set_allgather(const std::string&);
void set_allgatherv(const std::string&);
void set_allreduce(const std::string&);
void set_alltoall(const std::string&);
void set_alltoallv(const std::string&);
void set_barrier(const std::string&);
void set_bcast(const std::string&);
void set_gather(const std::string&);
void set_reduce(const std::string&);
void set_reduce_scatter(const std::string&);
void set_scatter(const std::string&);
}  // namespace colls
}  // namespace simgrid::smpi

namespace {

namespace colls = simgrid::smpi::colls;

int rank, size;
MPI_Comm comm;

void choose(const std::string& operation, const std::string& algorithm) {
  static const std::map<std::string, void (*)(const std::string&)> setters{
      {"allgather", colls::set_allgather}, {"allgatherv", colls::set_allgatherv},
      {"allreduce", colls::set_allreduce}, {"alltoall", colls::set_alltoall},
      {"alltoallv", colls::set_alltoallv}, {"barrier", colls::set_barrier},
      {"bcast", colls::set_bcast},         {"gather", colls::set_gather},
      {"reduce", colls::set_reduce},       {"reduce_scatter", colls::set_reduce_scatter},
      {"scatter", colls::set_scatter}};
  setters.at(operation)(algorithm);
}

class Line {
 public:
  explicit Line(const std::string& text) {
    std::istringstream in(text);
    in >> word;
    for (double number; in >> number;) numbers_.push_back(number);
  }
  std::string word;

  int number() { return next_ < numbers_.size() ? static_cast<int>(numbers_[next_++]) : 0; }
  std::vector<int> counts() {
    std::vector<int> found;
    for (int i = 0; i < size; i++) found.push_back(number());
    return found;
  }
  // The type with this number in a trace; byte if the line ends before it.
  MPI_Datatype type() {
    if (next_ >= numbers_.size()) return MPI_BYTE;
    switch (number()) {
      case 0:
        return MPI_DOUBLE;
      case 1:
        return MPI_INT;
      case 2:
        return MPI_CHAR;
      case 3:
        return MPI_SHORT;
      case 6:
        return MPI_BYTE;
      case 14:
        return MPI_DOUBLE_COMPLEX;
      default:
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return MPI_BYTE;
  }

 private:
  std::vector<double> numbers_;
  size_t next_ = 0;
};

MPI_Op operation_of(MPI_Datatype type) { return type == MPI_BYTE ? MPI_BOR : MPI_SUM; }

char* room(size_t elements) { return static_cast<char*>(calloc(elements + 64, 16)); }

std::vector<int> displacements(const std::vector<int>& counts, size_t& total) {
  std::vector<int> found;
  total = 0;
  for (int count : counts) {
    found.push_back(static_cast<int>(total));
    total += static_cast<size_t>(count);
  }
  return found;
}

void rooted(Line& line) {
  if (line.word == "bcast" || line.word == "reduce") {
    const int count = line.number(), root = line.number();
    const MPI_Datatype type = line.type();
    char *a = room(count), *b = room(count);
    if (line.word == "bcast")
      MPI_Bcast(a, count, type, root, comm);
    else
      MPI_Reduce(a, b, count, type, operation_of(type), root, comm);
    free(a), free(b);
    return;
  }
  const int scount = line.number(), rcount = line.number(), root = line.number();
  const MPI_Datatype stype = line.type(), rtype = line.type();
  char *a = room(size_t(scount) * size), *b = room(size_t(rcount) * size);
  if (line.word == "gather")
    MPI_Gather(a, scount, stype, b, rcount, rtype, root, comm);
  else
    MPI_Scatter(a, scount, stype, b, rcount, rtype, root, comm);
  free(a), free(b);
}

void reduction(Line& line) {
  const int count = line.number();
  const MPI_Datatype type = line.type();
  char *a = room(count), *b = room(count);
  if (line.word == "allreduce")
    MPI_Allreduce(a, b, count, type, operation_of(type), comm);
  else if (line.word == "scan")
    MPI_Scan(a, b, count, type, operation_of(type), comm);
  else
    MPI_Exscan(a, b, count, type, operation_of(type), comm);
  free(a), free(b);
}

void all(Line& line) {
  const int scount = line.number(), rcount = line.number();
  const MPI_Datatype stype = line.type(), rtype = line.type();
  char *a = room(size_t(scount) * size), *b = room(size_t(rcount) * size);
  if (line.word == "alltoall")
    MPI_Alltoall(a, scount, stype, b, rcount, rtype, comm);
  else
    MPI_Allgather(a, scount, stype, b, rcount, rtype, comm);
  free(a), free(b);
}

void varying(Line& line) {
  size_t total, total2;
  if (line.word == "scatterv") {
    const std::vector<int> counts = line.counts(), places = displacements(counts, total);
    const int rcount = line.number(), root = line.number();
    const MPI_Datatype stype = line.type(), rtype = line.type();
    char *a = room(total), *b = room(rcount);
    MPI_Scatterv(a, counts.data(), places.data(), stype, b, rcount, rtype, root, comm);
    free(a), free(b);
  } else if (line.word == "reducescatter") {
    const std::vector<int> counts = line.counts();
    displacements(counts, total);
    line.number();  // flops
    const MPI_Datatype type = line.type();
    char *a = room(total), *b = room(total);
    MPI_Reduce_scatter(a, b, counts.data(), type, operation_of(type), comm);
    free(a), free(b);
  } else if (line.word == "alltoallv") {
    line.number();
    const std::vector<int> scounts = line.counts(), splaces = displacements(scounts, total);
    line.number();
    const std::vector<int> rcounts = line.counts(), rplaces = displacements(rcounts, total2);
    const MPI_Datatype stype = line.type(), rtype = line.type();
    char *a = room(total), *b = room(total2);
    MPI_Alltoallv(a, scounts.data(), splaces.data(), stype, b, rcounts.data(), rplaces.data(),
                  rtype, comm);
    free(a), free(b);
  } else {
    const int scount = line.number();
    const std::vector<int> counts = line.counts(), places = displacements(counts, total);
    const int root = line.word == "gatherv" ? line.number() : 0;
    const MPI_Datatype stype = line.type(), rtype = line.type();
    char *a = room(scount), *b = room(total);
    if (line.word == "gatherv")
      MPI_Gatherv(a, scount, stype, b, counts.data(), places.data(), rtype, root, comm);
    else
      MPI_Allgatherv(a, scount, stype, b, counts.data(), places.data(), rtype, comm);
    free(a), free(b);
  }
}

// Starts a collective and waits for it immediately.
void nonblocking(Line& line) {
  MPI_Request request;
  size_t total;
  char *a = room(1 << 20), *b = room(1 << 20);
  if (line.word == "ibarrier") {
    MPI_Ibarrier(comm, &request);
  } else if (line.word == "ireducescatter") {
    const std::vector<int> counts = line.counts();
    displacements(counts, total);
    line.number();  // flops
    const MPI_Datatype type = line.type();
    MPI_Ireduce_scatter(a, b, counts.data(), type, operation_of(type), comm, &request);
  } else {
    const int count = line.number(), other = line.word == "iallreduce" ? 0 : line.number();
    const MPI_Datatype type = line.type();
    if (line.word == "ibcast")
      MPI_Ibcast(a, count, type, other, comm, &request);
    else if (line.word == "ireduce")
      MPI_Ireduce(a, b, count, type, operation_of(type), other, comm, &request);
    else if (line.word == "iallreduce")
      MPI_Iallreduce(a, b, count, type, operation_of(type), comm, &request);
    else
      MPI_Ialltoall(a, count, type, b, other, type, comm, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(a), free(b);
}

void make_communicator(Line& line) {
  MPI_Comm made = MPI_COMM_NULL;
  if (line.word == "comm_dup") {
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
  } else {
    const int color = line.number(), key = line.number();
    MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color, key, &made);
  }
}

void call(Line& line) {
  static const std::map<std::string, void (*)(Line&)> kinds{{"bcast", rooted},
                                                            {"reduce", rooted},
                                                            {"gather", rooted},
                                                            {"scatter", rooted},
                                                            {"allreduce", reduction},
                                                            {"scan", reduction},
                                                            {"exscan", reduction},
                                                            {"alltoall", all},
                                                            {"allgather", all},
                                                            {"scatterv", varying},
                                                            {"gatherv", varying},
                                                            {"allgatherv", varying},
                                                            {"alltoallv", varying},
                                                            {"reducescatter", varying},
                                                            {"ibarrier", nonblocking},
                                                            {"ibcast", nonblocking},
                                                            {"ireduce", nonblocking},
                                                            {"iallreduce", nonblocking},
                                                            {"ialltoall", nonblocking},
                                                            {"ireducescatter", nonblocking},
                                                            {"comm_split", make_communicator},
                                                            {"comm_dup", make_communicator}};
  if (line.word == "barrier")
    MPI_Barrier(comm);
  else
    kinds.at(line.word)(line);
}

// No rank is still inside a collective after this: other algorithms can be chosen safely.
void gather_everybody() { simgrid::smpi::barrier__ompi_basic_linear(MPI_COMM_WORLD); }

void run(const std::string& text) {
  std::istringstream in(text);
  std::string word, operation, algorithm;
  in >> word;
  gather_everybody();
  if (word == "choose") {
    in >> operation >> algorithm;
    if (rank == 0) choose(operation, algorithm);
  } else if (word == "split") {
    int color, key;
    in >> color >> key;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_size(comm, &size);
  } else if (word == "world") {
    comm = MPI_COMM_WORLD;
    MPI_Comm_size(comm, &size);
  } else {
    Line line(text);
    fprintf(stderr, "@begin %d\n", rank);
    call(line);
    fprintf(stderr, "@end %d\n", rank);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::ifstream file(std::string(argv[1]) + "/rank-" + std::to_string(rank) + ".txt");
  for (std::string text; std::getline(file, text);) run(text);
  gather_everybody();
  MPI_Finalize();
  return 0;
}
