// The script of a page whose tables can be sorted (HtmlTable::row with an order): a button in each head that
// a click or a key presses, up at first and down then. Numbers go by data-sort, texts as they read; what has
// no number comes last. Without it the page is whole, and its tables stand in the order they came in.
#pragma once

#include <string_view>

namespace switchyard::report {

inline constexpr std::string_view sort_script = R"js("use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  table.classList.add("sorts");
  heads.forEach((head, column) => {
    const numbers = head.classList.contains("number"), button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const key = (row) => {
      const cell = row.cells[column];
      if (!numbers) return cell.textContent;
      return cell.dataset.sort === undefined ? null : Number(cell.dataset.sort);
    };
    const compare = (one, other) => numbers ? one - other : one.localeCompare(other, undefined, {numeric: true});
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => ({row, key: key(row)}));
      rows.sort((one, other) => one.key === null || other.key === null
        ? (one.key === null) - (other.key === null) : (down ? -1 : 1) * compare(one.key, other.key));
      body.append(...rows.map((one) => one.row));
    });
  });
}
)js";

}  // namespace switchyard::report
