// The style sheet of a report. Colors are variables, so that light, dark and paper differ in one block each;
// text keeps a contrast of at least 4.5 : 1 and lines and bars of plots of 3 : 1 (WCAG 2.2, 1.4.3 and
// 1.4.11), those that are see-through (--soft) and the whiskers upon them too:
// tests/workbench/report/page_style_test.cpp.
#pragma once

#include <string_view>

namespace switchyard::report {

inline constexpr std::string_view page_style = R"css(
:root { --page: #ffffff; --card: #f5f7f9; --text: #1b2027; --muted: #56606b; --line: #cfd6dd; --grid: #e4e8ec;
  --a: #1c64d8; --b: #b9480a; --c: #157347; --d: #7a45c9;
  --e: #0b7285; --f: #c2255c; --g: #7a6a00; --h: #495b70; --good: #157347; --bad: #b42318; --bad-card: #fdf0ee;
  --soft: .72; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #10141a; --card: #191f27; --text: #e7eaee; --muted: #a3adb8; --line: #3a434e; --grid: #29313a;
    --a: #6aa5ff; --b: #ffa05c; --c: #54c98f; --d: #bf9df7;
    --e: #5cc8dc; --f: #ff8fb8; --g: #d6c24a; --h: #aeb8c8; --good: #54c98f; --bad: #ff8a7a; --bad-card: #2c1c1b;
    --soft: .6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 28px 16px 48px; }
h1 { font-size: 1.65rem; line-height: 1.25; margin: 0 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 38px 0 8px; padding-bottom: 5px; border-bottom: 1px solid var(--line); }
h3 { font-size: .95rem; margin: 0 0 2px; }
p { margin: 6px 0; }
.muted, figcaption { color: var(--muted); }
.lead { font-size: 1.05rem; }
.status { font-weight: 650; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.notice { background: var(--bad-card); border-left: 4px solid var(--bad); border-radius: 4px; padding: 8px 12px; margin: 12px 0;
  overflow-wrap: anywhere; white-space: pre-wrap; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 10px; margin: 18px 0 0; padding: 0; }
.tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 9px 12px; }
.tiles dt { color: var(--muted); font-size: .85rem; }
.tiles dd { margin: 0; }
.tiles .value { font-size: 1.35rem; font-weight: 650; line-height: 1.3; }
.tiles .detail { color: var(--muted); font-size: .8rem; }
figure { margin: 10px 0 0; }
figcaption { font-size: .88rem; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 4px 0 6px; padding: 0; list-style: none; font-size: .88rem; }
.legend svg { vertical-align: -1px; margin-right: 6px; }
.small-plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); gap: 22px 26px; margin-top: 14px; }
.small-plots figure { margin: 0; min-width: 0; max-width: 500px; }
svg { display: inline-block; }
svg.plot { display: block; width: 100%; height: auto; overflow: visible; }
svg.narrow { display: none; }
.plot text { fill: var(--text); font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.plot .name, .plot .value { paint-order: stroke; stroke: var(--page); stroke-width: 4px; stroke-linejoin: round; }
.plot .tick, .plot .axis-title { fill: var(--muted); }
.plot .name { font-weight: 650; }
.plot .grid { stroke: var(--grid); }
.plot .axis { stroke: var(--muted); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.faint { stroke-width: 1; opacity: var(--soft); }
.stroke-a { stroke: var(--a); } .stroke-b { stroke: var(--b); } .stroke-c { stroke: var(--c); } .stroke-d { stroke: var(--d); }
.stroke-e { stroke: var(--e); } .stroke-f { stroke: var(--f); } .stroke-g { stroke: var(--g); } .stroke-h { stroke: var(--h); }
.fill-a { fill: var(--a); } .fill-b { fill: var(--b); } .fill-c { fill: var(--c); } .fill-d { fill: var(--d); }
.fill-e { fill: var(--e); } .fill-f { fill: var(--f); } .fill-g { fill: var(--g); } .fill-h { fill: var(--h); }
.dot { stroke: var(--page); stroke-width: 1.5; }
.bar { fill-opacity: var(--soft); }
.whisker { stroke: var(--text); stroke-width: 1.6; fill: none; }
table { border-collapse: collapse; width: 100%; margin: 12px 0 0; font-size: .88rem; }
th { text-align: left; color: var(--muted); font-weight: 600; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
th:last-child, td:last-child { padding-right: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td .interval { white-space: normal; }
td .why { display: block; color: var(--muted); font-size: .93em; overflow-wrap: anywhere; }
thead th, .whole { white-space: nowrap; }
.cards thead th { white-space: normal; vertical-align: bottom; }
.sorts th button { all: unset; cursor: pointer; }
.sorts th button:focus-visible { outline: 2px solid var(--a); outline-offset: 2px; }
.sorts th[aria-sort] button::after { content: "\00a0▲"; }
.sorts th[aria-sort="descending"] button::after { content: "\00a0▼"; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--a); }
.matrix { width: auto; }
.matrix th, .matrix td { padding: 4px 8px; text-align: right; border: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.matrix tbody th { position: sticky; left: 0; z-index: 1; background: var(--page); }
.matrix thead th { padding: 8px 4px; vertical-align: bottom; white-space: normal; }
.matrix thead th div { writing-mode: vertical-rl; max-height: 13em; margin: 0 auto; text-align: end; }
.matrix thead th div.level { writing-mode: horizontal-tb; text-align: center; white-space: nowrap; }
.matrix thead td { color: var(--muted); vertical-align: bottom; white-space: nowrap; }
.matrix th { max-width: 13em; overflow-wrap: anywhere; }
.matrix tbody td { position: relative; isolation: isolate; min-width: 2.6em; }
h3.next { margin-top: 24px; }
.matrix tbody td::before { content: ""; position: absolute; inset: 0; z-index: -1; background: var(--a); opacity: 0;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.matrix .hit { font-weight: 650; }
.matrix .none { color: var(--muted); }
.matrix .share-1::before { opacity: .05; } .matrix .share-2::before { opacity: .1; } .matrix .share-3::before { opacity: .15; }
.matrix .share-4::before { opacity: .2; } .matrix .share-5::before { opacity: .25; } .matrix .share-6::before { opacity: .3; }
.matrix .share-7::before { opacity: .35; } .matrix .share-8::before { opacity: .4; } .matrix .share-9::before { opacity: .45; }
.matrix .share-10::before { opacity: .5; }
.facts th { width: 11em; padding-right: 16px; white-space: nowrap; }
.facts td { overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .86em; }
code { overflow-wrap: anywhere; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; overflow-x: auto; line-height: 1.45; }
details { margin-top: 14px; }
summary { cursor: pointer; font-weight: 600; }
footer { margin-top: 40px; color: var(--muted); font-size: .82rem; }
@media screen and (max-width: 720px) {
  svg.wide { display: none; }
  svg.narrow { display: block; max-width: 560px; }
  h1 { font-size: 1.4rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .tiles .value { font-size: 1.2rem; }
  .facts th { width: auto; white-space: normal; }
  .matrix th { max-width: 9em; }
}
/* A table of nine columns needs all that the page has at its widest. */
@media screen and (max-width: 980px) {
  table.cards, table.cards tbody, table.cards tr, table.cards td { display: block; }
  table.cards thead { display: none; }
  table.cards tr { border: 1px solid var(--line); border-radius: 8px; padding: 6px 12px; margin-top: 10px; }
  table.cards td, table.cards td.number { display: grid; grid-template-columns: 8.5em 1fr; border: 0; padding: 2px 0; text-align: left;
    white-space: normal; }
  table.cards td::before { content: attr(data-label); color: var(--muted); }
  table.cards td.empty { display: none; }
  table.cards.sorts thead { display: block; }
  table.cards.sorts thead tr { display: flex; flex-wrap: wrap; gap: 4px 18px; border: 0; padding: 0; margin: 0; }
  table.cards.sorts thead th { border: 0; padding: 0; }
}
@media screen and (min-width: 981px) {
  .cards th:not(:last-child), .cards td:not(:last-child) { padding-right: 8px; }
  .cards td .why { min-width: 13em; }
  .scroll > .cards td > div { min-width: 6.5em; }
  .scroll > .cards td.number > div { min-width: 0; }
  .scroll > .cards td:first-child > div { min-width: 15em; }
}
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0 8px; }
  h2 { break-after: avoid; }
  figure, tr, .tiles > div { break-inside: avoid; }
  table { font-size: 8pt; }
  th, td { padding: 3px 8px 3px 0; }
  .facts th { padding-right: 12px; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .scroll { overflow: visible; }
  .scroll > .cards th, .scroll > .cards td { white-space: normal; overflow-wrap: anywhere; padding-right: 6px; }
}
)css";

}  // namespace switchyard::report
