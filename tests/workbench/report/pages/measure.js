// Looks at a page as a browser lays it out, in a frame of each width, and writes what is wrong with it, a line each, into #faults:
// what lies outside of the page, text that is not shown or lies upon other text, colors without contrast, pictures without a name.
// The page is the text of #page. A test starts the browser twice, for its light and its dark colors.
"use strict";

const widths = [400, 560, 720, 721, 980, 981, 1200, 1400];
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

function faults_of(document, view, width) {
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
    if (boxes.some((box) => box.left < left || box.right > right) && !scrolls(parent, view))
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

async function measure() {
  const page = document.getElementById("page").textContent;
  const lines = [];
  for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style = `width: ${width}px; height: 900px; border: 0`;
    frame.srcdoc = page;
    const loaded = new Promise((resolve) => { frame.onload = resolve; });
    document.body.append(frame);
    await loaded;
    const view = frame.contentWindow;
    for (const open of [false, true]) {
      for (const part of frame.contentDocument.querySelectorAll("details")) part.open = open;
      for (const fault of faults_of(frame.contentDocument, view, frame.contentDocument.documentElement.clientWidth))
        lines.push(`${width} pixels: ${fault}`);
    }
    frame.remove();
  }
  document.getElementById("faults").textContent = [...new Set(lines), "measured"].join("\n");
}

measure();
