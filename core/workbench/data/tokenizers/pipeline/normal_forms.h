// Unicode's normal forms (UAX 15) as Hugging Face's tokenizers makes them, which is by Unicode 9: what came
// later stays where it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace switchyard::data {

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

// Whether the form may change the text; false where it is known not to.
bool may_change(std::string_view text, NormalForm form);

std::string normal_form(std::string_view text, NormalForm form);

}  // namespace switchyard::data
