// Readers of tables that other programs would read, by their own rules: CSV (RFC 4180) and the tables of
// GitHub's Markdown. Each throws what is wrong.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace switchyard::test {

using Cells = std::vector<std::string>;

// Records of a CSV text, the heads first.
inline std::vector<Cells> csv_records(const std::string& text) {
    std::vector<Cells> records;
    Cells record;
    std::string cell;
    const auto wrong = [&](std::size_t at, const char* what) {
        throw std::runtime_error("byte " + std::to_string(at) + ": " + what);
    };
    std::size_t at = 0;
    while (at < text.size()) {
        if (text[at] == '"') {
            for (++at;; ++at) {
                if (at >= text.size()) wrong(at, "a quotation mark is not closed");
                if (text[at] == '"' && text[at + 1] != '"') break;
                if (text[at] == '"') ++at;
                cell += text[at];
            }
            ++at;
        } else {
            for (; at < text.size() && text[at] != ',' && text[at] != '\r'; ++at) {
                if (text[at] == '"' || text[at] == '\n') wrong(at, "must be within quotation marks");
                cell += text[at];
            }
        }
        record.push_back(cell);
        cell.clear();
        if (at < text.size() && text[at] == ',') {
            ++at;
            if (text.compare(at, 2, "\r\n") == 0) record.emplace_back();
        }
        if (text.compare(at, 2, "\r\n") == 0) {
            records.push_back(record);
            record.clear();
            at += 2;
        } else if (at >= text.size()) {
            wrong(at, "the last line has no end");
        }
    }
    return records;
}

// Rows by the heads of their columns.
inline std::vector<std::map<std::string, std::string>> by_heads(const std::vector<Cells>& records) {
    std::vector<std::map<std::string, std::string>> rows;
    for (std::size_t i = 1; i < records.size(); ++i) {
        if (records[i].size() != records[0].size())
            throw std::runtime_error("row " + std::to_string(i) + " has " +
                                     std::to_string(records[i].size()) + " cells, the heads are " +
                                     std::to_string(records[0].size()));
        auto& row = rows.emplace_back();
        for (std::size_t column = 0; column < records[0].size(); ++column)
            row[records[0][column]] = records[i][column];
    }
    return rows;
}

// The text that a cell of a table of this program stands for: less the apostrophe that keeps spreadsheets
// from taking it for a formula.
inline std::string text_of_cell(const std::string& cell) {
    return cell.starts_with('\'') ? cell.substr(1) : cell;
}

// Records of the first table in a text of Markdown, the heads first: backslashes and entities resolved.
inline std::vector<Cells> markdown_records(const std::string& text) {
    std::vector<Cells> records;
    std::size_t at = text.find("\n| ");
    while (at != std::string::npos && text.compare(at, 2, "\n|") == 0) {
        const auto end = text.find('\n', at + 1);
        const auto line = text.substr(at + 2, end - at - 2);
        at = end;
        Cells record{""};
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '|')
                record.emplace_back();
            else
                record.back() += line[i] == '\\' ? line[++i] : line[i];
        }
        if (!record.back().empty()) throw std::runtime_error("a row does not end with |: " + line);
        record.pop_back();
        if (line.starts_with("---")) continue;
        for (auto& cell : record) {
            for (const auto& [entity, character] : {std::pair{"&lt;", "<"}, {"&#64;", "@"}}) {
                for (auto found = cell.find(entity); found != std::string::npos; found = cell.find(entity))
                    cell.replace(found, std::string(entity).size(), character);
            }
            const auto first = cell.find_first_not_of(' ');
            cell =
                first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1);
        }
        records.push_back(record);
    }
    return records;
}

}  // namespace switchyard::test
