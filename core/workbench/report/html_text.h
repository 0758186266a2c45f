// Text that becomes HTML: escaping, and the frame of a page that needs nothing from outside.
#pragma once

#include <string>
#include <string_view>

namespace switchyard::report {

// For text and for quoted attributes: & < > " ' become entities; bytes that are no UTF-8, and control
// characters that HTML forbids, become U+FFFD.
std::string escape(std::string_view text);

// At most `limit` characters (not bytes), with an ellipsis in place of the rest, and no word cut in two
// unless it is very long. Not escaped.
std::string shortened(const std::string& text, std::size_t limit);

// A name as a person reads it: "CANNOT TELL" of "CANNOT_TELL".
std::string in_words(std::string_view name);

// A key as "batch.max_length" where a line may end behind its dots and underscores (by spaces of no width),
// so that a narrow column does not cut a word. Not escaped.
std::string breakable(const std::string& key);

// Pieces of a page, of plain text but for `body`: a part with its heading, "" where it would be empty; a
// remark.
std::string section(const std::string& title, const std::string& body);
std::string note(const std::string& text);

// A whole document, light or dark as the reader's system is, light on paper. `title` is plain text, `body` is
// HTML; `script` is what only adds to it (page_script.h).
std::string page(const std::string& title, const std::string& body, std::string_view script = {});

}  // namespace switchyard::report
