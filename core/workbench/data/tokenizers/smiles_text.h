// Molecules written as lines of text: SMILES (Weininger 1988; opensmiles.org).
#pragma once

#include <string>
#include <string_view>

namespace switchyard::data {

// The token that `text` begins with; empty where none does. Tokens are those of Schwaller et al. 2019
// ("Molecular Transformer", arXiv:1811.02633): an atom in brackets, Br, Cl, an atom of the organic subset, a
// bond, a branch's parenthesis, a ring's digit or its %NN, and the signs . : ~ @ ? > * $ + - = # \ /.
std::string_view first_smiles_token(std::string_view text);

// Why `text` is not well bracketed: parentheses and brackets balanced, each number of a ring opened and
// closed. Empty: it is. Of chemistry it says nothing.
std::string bracket_fault(std::string_view text);

}  // namespace switchyard::data
