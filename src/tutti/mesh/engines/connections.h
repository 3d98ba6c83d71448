// Connections between all members of a group, each proven to lead to the very member it should, and to nobody else.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/wire/records.h"
#include "tutti/mesh/wire/secret.h"
#include "tutti/mesh/wire/sockets.h"

namespace tutti {

struct Connection {
  wire::Descriptor socket;
  wire::Secrecy secrecy;
  wire::RecordSeal outgoing;
  wire::RecordSeal incoming;
};

struct ConnectingMember {
  std::string key;  // of the group, used once
  int size = 1;
  int index = 0;
  std::string address;                               // of this process, as the others reach it; what it listens on
  wire::Secret secret;                               // the job's
  wire::Secrecy secrecy = wire::Secrecy::encrypted;  // readable: between members that both say so
  std::stop_token stop = {};
  std::vector<int> ranks = {};  // what errors call the members; none: by their places

  [[nodiscard]] std::string name(int member) const;
};

// By member; none for this one. Every member listens at its address for those above it, and connects to those below. Whoever else
// connects there, and whatever it says, is of no account: a connection counts once it has proven the member it is of, for this
// group and this opening. Until then one that breaks is made anew; afterwards its end is the member's. Throws DeadlineExceeded,
// ExchangeFailed where one of them ended or this one was told to stop, and what the rendezvous throws.
std::vector<std::optional<Connection>> connect_all(Rendezvous& rendezvous, const ConnectingMember& self, Deadline deadline);

}  // namespace tutti
