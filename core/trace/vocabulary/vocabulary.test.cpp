#include "trace/vocabulary/vocabulary.hpp"

#include <stdexcept>

#include "core/test.hpp"

namespace tisim {

TEST("vocabulary: every known action is found, in any case") {
  const Vocabulary vocabulary({});
  for (const Action& action : known_actions()) {
    CHECK(vocabulary.find(action.name) == &action);
    std::string shouted(action.name);
    for (char& c : shouted) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    CHECK(vocabulary.find(shouted) == &action);
  }
  CHECK(vocabulary.find("sendRecv")->kind == Kind::sendrecv);
  CHECK(vocabulary.find("ISsend")->kind == Kind::issend);
  CHECK(vocabulary.find("allToAllV")->operation == Operation::alltoallv);
}

TEST("vocabulary: what is not an action is not found") {
  const Vocabulary vocabulary({});
  for (const char* word :
       {"", "s", "sen", "sends", "comput", "compute_", "a_very_long_word_indeed"}) {
    CHECK(vocabulary.find(word) == nullptr);
  }
}

TEST("vocabulary: custom actions") {
  const Vocabulary vocabulary({"checkpoint", "a_rather_long_name_of_an_action"});
  CHECK(vocabulary.find("CheckPoint")->name == "checkpoint");
  CHECK(vocabulary.find("checkpoint")->form == Form::custom);
  CHECK(vocabulary.find("a_rather_long_name_of_an_action") != nullptr);
  CHECK_THROWS(Vocabulary({"Send"}), std::invalid_argument, "already there");
  CHECK_THROWS(Vocabulary({"x", "X"}), std::invalid_argument, "already there");
  CHECK_THROWS(Vocabulary({"two words"}), std::invalid_argument, "one word");
  CHECK_THROWS(Vocabulary({""}), std::invalid_argument, "one word");
}

TEST("vocabulary: the nearest names") {
  const Vocabulary vocabulary({"checkpoint"});
  CHECK(vocabulary.nearest("sned").substr(0, 4) == "send");
  CHECK(vocabulary.nearest("chekpoint") == "checkpoint");
  CHECK(vocabulary.nearest("allredcue").substr(0, 9) == "allreduce");
  CHECK(vocabulary.nearest("xyzzy").empty());
  CHECK(vocabulary.nearest(std::string(10000, 'a')).empty());
}

}  // namespace tisim
