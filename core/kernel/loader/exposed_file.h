// Libraries that somebody else could exchange: their code runs as the one who loads them.
#pragma once

#include <string>

namespace switchyard::loader {

// Why others may put code into this library: it or its folder may be written by everybody, or belongs to
// somebody else than root, the user and the owner of this program. Empty: they may not. Libraries of one
// folder have the same text where it is the folder's.
std::string exposed_because(const std::string& library);

}  // namespace switchyard::loader
