// Looks at a page as a browser lays it out, in a frame of each width and of paper, and writes what is wrong with it, a line each, into
// #faults: what lies outside of the page, text that is not shown or lies upon other text, colors without contrast, pictures without a
// name, tables that say that they can be sorted and cannot; on paper what is not dark on white.
// The page is the text of #page. A test starts the browser twice, for its light and its dark colors.
"use strict";

const widths = [400, 560, 720, 721, 980, 981, 1200, 1400];
// A4 and letter, upright and across, less Chromium's margins of 0.4 inches, at 96 pixels an inch.
const paper_widths = [717, 739, 979, 1046];
const dark = 0.3, white = 0.8;  // luminance of text and of what is behind it, on paper
// WCAG 2.2, 1.4.3: of text; larger text would do with 3.
const least_contrast = 4.5;

function shortened(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 60 ? line.slice(0, 57) + "..." : line;
}

// [red, green, blue, opacity] of "rgb(1, 2, 3)" and "rgba(1, 2, 3, 0.5)", as computed styles have them.
function color(text) {
  const parts = text.match(/[\d.]+/g).map(Number);
  return parts.length === 3 ? [...parts, 1] : parts;
}

// Relative luminance, as WCAG 2.2 defines it.
function luminance(rgb) {
  const linear = rgb.slice(0, 3).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function behind(element, view) {
  for (let at = element; at !== null; at = at.parentElement) {
    const found = color(view.getComputedStyle(at).backgroundColor);
    if (found[3] === 1) return found;
  }
  return [255, 255, 255, 1];
}

// The nearest element above that shows what is too wide for it by scrolling.
function scrolls(element, view) {
  for (let at = element; at !== null; at = at.parentElement)
    if (["auto", "scroll"].includes(view.getComputedStyle(at).overflowX)) return true;
  return false;
}

// Not there for a reason: one of the two forms of a plot, the head of a table that has become cards, what a closed part hides.
function left_out(element, view) {
  for (let at = element; at !== null; at = at.parentElement) {
    if (at.tagName === "DETAILS" && !at.open && element.closest("summary") === null) return true;
    if (view.getComputedStyle(at).display === "none")
      return at.matches("svg.wide, svg.narrow, thead, td.empty, head, script, style, title, desc");
  }
  return false;
}

function texts(document, view) {
  const found = [];
  const walker = document.createTreeWalker(document.body, view.NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (node.data.replace(/[\s\u200b]/g, "") === "" || parent.closest("script, style, title, desc") !== null) continue;
    if (left_out(parent, view)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    found.push({text: shortened(node.data), parent, boxes: [...range.getClientRects()].filter((box) => box.width > 0 && box.height > 0)});
  }
  return found;
}

function overlap(one, other) {
  const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return wide > 2 && high > 0.35 * Math.min(one.height, other.height);
}

// From here on the page's style is that for paper.
function put_on_paper(document) {
  for (const sheet of document.styleSheets)
    for (const {media} of sheet.cssRules)
      if (media?.mediaText.startsWith("screen")) media.mediaText = "not all";
      else if (media?.mediaText === "print") media.mediaText = "all";
}

function paper_faults(document, view) {
  const faults = [];
  if (luminance(color(view.getComputedStyle(document.body).backgroundColor)) < 1) faults.push("the paper is not white");
  for (const {text, parent} of texts(document, view)) {
    const style = view.getComputedStyle(parent);
    const ink = luminance(color(parent.closest("svg") === null ? style.color : style.fill)), below = luminance(behind(parent, view));
    if (ink > dark || below < white) faults.push(`not dark on white: "${text}"`);
  }
  return faults;
}

// Presses each head of the tables that can be sorted, twice.
function sort_faults(document) {
  const faults = [];
  const {compare} = new Intl.Collator(undefined, {numeric: true});
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], before = [...body.rows];
    heads.forEach((head, column) => {
      const name = shortened(head.textContent), button = head.querySelector("button");
      if (button === null || button.tabIndex < 0) {
        faults.push(`no button sorts by "${name}"`);
        return;
      }
      for (const [order, sign] of [["ascending", 1], ["descending", -1]]) {
        button.click();
        if (heads.some((one) => one.getAttribute("aria-sort") !== (one === head ? order : null)))
          faults.push(`it is not told that the rows are ${order} by "${name}"`);
        const rows = [...body.rows], cells = rows.map((row) => row.cells[column]);
        if (rows.length !== before.length || before.some((row) => !rows.includes(row))) faults.push("rows were lost");
        const told = cells.map((cell) => head.classList.contains("number") ? cell.getAttribute("data-sort") : cell.textContent);
        const after = (one, other) => head.classList.contains("number") ? Number(one) - Number(other) : compare(one, other);
        for (let i = 1; i < told.length; ++i)
          if (told[i] !== null && (told[i - 1] === null || sign * after(told[i - 1], told[i]) > 0))
            faults.push(`the rows are not ${order} by "${name}"`);
      }
    });
  }
  return faults;
}

// `paper`: what is too wide cannot be scrolled to.
function faults_of(document, view, width, paper) {
  const faults = new Set();
  const root = document.documentElement;
  if (root.scrollWidth > width) faults.add(`the page is ${root.scrollWidth} pixels wide`);
  const shown = texts(document, view), room = document.querySelector("main").getBoundingClientRect();
  if (shown.length === 0) faults.add("there is no text");
  for (const {text, parent, boxes} of shown) {
    if (boxes.length === 0) faults.add(`not shown: "${text}"`);
    const svg = parent.closest("svg"), style = view.getComputedStyle(parent);
    // Half of the last number of an axis may stand in the margin.
    const [left, right] = svg === null ? [room.left - 1, room.right + 1] : [0, width];
    if (boxes.some((box) => box.left < left || box.right > right) && (paper || !scrolls(parent, view)))
      faults.add(`outside of the page's ${svg === null ? "column" : "width"}: "${text}"`);
    const ratio = contrast(color(svg === null ? style.color : style.fill), behind(parent, view));
    if (ratio < least_contrast) faults.add(`contrast ${ratio.toFixed(2)}: "${text}"`);
  }
  for (let i = 0; i < shown.length; ++i)
    for (let j = i + 1; j < shown.length; ++j)
      if (shown[i].boxes.some((one) => shown[j].boxes.some((other) => overlap(one, other))))
        faults.add(`"${shown[i].text}" and "${shown[j].text}" lie upon each other`);
  for (const picture of document.querySelectorAll("svg, img")) {
    if (left_out(picture, view) || picture.getAttribute("aria-hidden") === "true") continue;
    const name = picture.getAttribute("aria-label") || picture.getAttribute("alt") || picture.querySelector(":scope > title")?.textContent;
    if (!name || picture.tagName === "svg" && picture.getAttribute("role") !== "img") faults.add("a picture has no alternative text");
  }
  for (const figure of document.querySelectorAll("figure")) {
    const plots = [...figure.querySelectorAll("svg.plot")].filter((plot) => view.getComputedStyle(plot).display !== "none");
    if (figure.querySelector("svg.plot") !== null && plots.length === 0) faults.add("a figure shows no plot");
  }
  const filled = /^h[1-6]$/i;
  for (const head of document.querySelectorAll("h1, h2, h3"))
    if (head.nextElementSibling === null || filled.test(head.nextElementSibling.tagName) && head.tagName >= head.nextElementSibling.tagName)
      faults.add(`nothing stands below "${shortened(head.textContent)}"`);
  return faults;
}

async function frame_of(width) {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 900px; border: 0`;
  frame.srcdoc = document.getElementById("page").textContent;
  const loaded = new Promise((resolve) => { frame.onload = resolve; });
  document.body.append(frame);
  await loaded;
  return frame;
}

async function measure() {
  const lines = [];
  for (const width of widths) {
    const frame = await frame_of(width), page = frame.contentDocument, view = frame.contentWindow;
    const add = (faults) => { for (const fault of faults) lines.push(`${width} pixels: ${fault}`); };
    for (const open of [false, true]) {
      for (const part of page.querySelectorAll("details")) part.open = open;
      add(faults_of(page, view, page.documentElement.clientWidth, false));
      if (!open) add(sort_faults(page));
    }
    frame.remove();
  }
  for (const width of paper_widths) {
    const frame = await frame_of(width), page = frame.contentDocument, view = frame.contentWindow;
    put_on_paper(page);
    for (const fault of [...faults_of(page, view, width, true), ...paper_faults(page, view)]) lines.push(`paper of ${width} pixels: ${fault}`);
    frame.remove();
  }
  document.getElementById("faults").textContent = [...new Set(lines), "measured"].join("\n");
}

measure();
