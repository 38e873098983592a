// Numbers as text, elements, and the charts.
"use strict";

// As PromQL's histogram_quantile: linear within a bucket, the highest finite bound beyond it. It is an estimate, which may be
// above the slowest request. What the sum of all values says of those in the bucket bounds it: the m highest of them are at
// least as high as the quantile, and each other value is at least at the lower bound of its own bucket.
function estimate(q, numbers, bounds) {
  let all = 0, least = 0;
  for (let i = BUCKETS; i < numbers.length; i++) {
    all += numbers[i];
    least += numbers[i] * (i > BUCKETS ? Math.max(0, bounds[i - BUCKETS - 1]) : 0);
  }
  if (!all) return { value: NaN };
  const rank = q * all;
  let lower = 0, below = 0;
  for (let i = BUCKETS; i < numbers.length; i++) {
    const bound = bounds[i - BUCKETS], count = numbers[i];
    if (count > 0 && below + count >= rank) {
      if (bound === Infinity) return { value: lower, isBeyond: true };
      const highest = Math.floor(below + count - rank) + 1;
      const most = lower + Math.max(0, numbers[SUM] - least) / highest;
      return { value: Math.min(lower + (bound - lower) * ((rank - below) / count), most) };
    }
    if (bound !== Infinity) lower = bound;
    below += count;
  }
  return { value: lower, isBeyond: true };
}

const quantile = (q, numbers, bounds) => estimate(q, numbers, bounds).value;

// The text says what it is: an estimate, or that it lies beyond the last bucket.
function quantileText(q, numbers, bounds) {
  const { value, isBeyond } = estimate(q, numbers, bounds);
  return Number.isFinite(value) ? `${isBeyond ? ">" : "≈"}\u00a0${seconds(value)}` : "–";
}

const seconds = value => {
  if (!Number.isFinite(value)) return "–";
  const [factor, unit] = value >= 0.9995 ? [1, "s"] : value >= 0.0009995 || !value ? [1e3, "ms"] : [1e6, "µs"];
  return `${Number((value * factor).toPrecision(3))}\u00a0${unit}`;
};
const FORMATS = [0, 1, 2].map(maximumFractionDigits => new Intl.NumberFormat("en-US", { maximumFractionDigits }));
const number = value => Number.isFinite(value) ? FORMATS[value < 10 ? 2 : value < 100 ? 1 : 0].format(value) : "–";
const percent = value => `${Number((value * 100).toPrecision(3))}\u00a0%`;
const share = (numbers, place = ERRORS) => numbers[COUNT] ? numbers[place] / numbers[COUNT] : 0;

// As the lines of the log say it: UTC.
const clock = time => new Date(performance.timeOrigin + time).toISOString().slice(11, 19);
const bytes = value => {
  const power = Math.min(3, Math.max(0, Math.floor(Math.log10(value || 1) / 3)));
  return `${Number((value / 1000 ** power).toPrecision(3))}\u00a0${["B", "kB", "MB", "GB"][power]}`;
};

const $ = id => document.getElementById(id);

// What comes from the metrics or the log enters the document as text only, never as markup.
function element(name, attributes = {}, ...children) {
  const space = /^(svg|path)$/.test(name) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const node = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const WIDTH = 600, HEIGHT = 140, LINES = ["one", "two", "three"];
const CHARTS = { rate: ["per second", [""]], share: ["that failed", ["errors", "4xx"]],
  latency: ["by percentile of their latency", ["p50", "p90", "p99"]], heat: ["by latency", [""]] };

function makeChart(side, name) {
  const id = `${side}-${name}`, [words, keys] = CHARTS[name], title = `Requests ${side} ${words}`,
    now = element("span", { class: "now" });
  keys.forEach((key, i) => now.append(element("span", { class: key && `key ${LINES[i]}` }, `${key} `,
    element("b", { id: `${id}-now-${i}` }, "–"))));
  const drawing = name === "heat" ? element("canvas", { id, role: "img", "aria-label": title })
    : element("svg", { id, role: "img", "aria-label": title, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" });
  const times = element("div", { class: "times", "aria-hidden": "true" }, element("span", { class: "from" }),
    element("b", { class: "moment" }),
    element("span", {}, "now"));
  return element("figure", {}, element("figcaption", {}, element("span", {}, title), now),
    element("div", { class: "plot" }, element("div", { class: "scale", id: `${id}-scale`, "aria-hidden": "true" }),
      element("div", { class: "area" }, drawing, element("i", { class: "cross", hidden: "" })), times));
}

// The least of 1, 2, 5, 10, 20, … that is not below.
function roundTop(value, least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, least)));
  return [1, 2, 5, 10].map(step => step * power).find(top => top >= value * 0.999) || least;
}

// What is drawn now: the steps, the time that they cover, and what each chart says of a step in words.
const drawn = { steps: [], span: 60000, words: {} };

// Unless the reader chooses, the charts begin with the last minute, and cover more as there is more.
function setSpan() {
  drawn.steps = shownSteps();
  const time = drawn.steps.length ? known.time - drawn.steps[0].from : 0;
  drawn.span = 60000 * chosen.minutes || [60000, 120000, 300000].find(span => span >= time) || WINDOW;
}

const across = (time, width) => width * (1 - (known.time - time) / drawn.span);
const rateOf = (count, { from, to }) => count * 1000 / (to - from);

function scale(id, texts) {
  $(`${id}-scale`).replaceChildren(...texts.map(text => element("span", {}, text)));
}

// A line for each column, interrupted where there is no value. The scale begins at 0, or is logarithmic from the least
// value on: a p99 of seconds must not hide a p50 of milliseconds.
function lines(id, columns, format, least, isLogarithmic, sign = "") {
  const highest = Math.max(...columns.flat().filter(Number.isFinite), 0);
  const top = roundTop(highest, isLogarithmic ? 10 * least : least);
  const height = value => isLogarithmic ? Math.max(0, Math.log(value / least) / Math.log(top / least)) : value / top;
  $(id).replaceChildren(...columns.map((values, index) => {
    let path = "", isDrawing = false;
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) return isDrawing = false;
      const y = (HEIGHT - height(value) * (HEIGHT - 4) - 2).toFixed(1), x = time => across(time, WIDTH).toFixed(1);
      path += `${isDrawing ? "" : `M${x(drawn.steps[i].from)} ${y}`}L${x(drawn.steps[i].to)} ${y}`;
      isDrawing = true;
    });
    return element("path", { class: LINES[index], d: path });
  }));
  scale(id, isLogarithmic ? [top, Math.sqrt(top * least), least].map(format) : [top, top / 2, 0].map(format));
  const said = value => Number.isFinite(value) ? sign + format(value) : "–";
  drawn.words[id] = i => columns.map(values => said(values[i]));
  $(id).setAttribute("aria-label",
    `${titleOf(id)}: now ${drawn.words[id](drawn.steps.length - 1).join(", ")}; highest ${said(highest)}`);
}

const titleOf = id => $(id).closest("figure").querySelector("figcaption span").textContent;

const bucketName = (bounds, i) => bounds[i] === Infinity ? `over ${seconds(bounds[i - 1])}` : `up to ${seconds(bounds[i])}`;

// The size and the colour of a heatmap. They are asked for when they may have changed: to ask makes the browser lay the page out.
function fitHeat() {
  for (const side of SIDES) {
    const canvas = $(`${side}-heat`);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
    canvas.getContext("2d").fillStyle = getComputedStyle(canvas).color;
  }
  draw();
}

// A column for each step, a row for each bucket; the more requests in a second, the stronger.
function heat(id, sums, bounds) {
  const canvas = $(id), rows = Math.max(bounds.length, 1), context = canvas.getContext("2d"), height = canvas.height / rows;
  context.clearRect(0, 0, canvas.width, canvas.height);
  const rates = sums.map((sum, i) => Array.from(sum.subarray(BUCKETS), count => rateOf(count, drawn.steps[i])));
  const positive = rates.flat().filter(rate => rate > 0);
  const highest = positive.reduce((a, b) => Math.max(a, b), 0), lowest = positive.reduce((a, b) => Math.min(a, b), Infinity);
  rates.forEach((rate, i) => {
    const left = Math.floor(across(drawn.steps[i].from, canvas.width)),
      right = Math.ceil(across(drawn.steps[i].to, canvas.width));
    rate.forEach((value, row) => {
      if (!(value > 0)) return;
      const box = [left, Math.floor((rows - 1 - row) * height), right - left, Math.ceil(height)];
      context.globalAlpha = 0.2 + 0.8 * Math.log1p(value / lowest) / Math.log1p(highest / lowest);
      context.clearRect(...box);
      context.fillRect(...box);
    });
  });
  const finite = bounds.filter(Number.isFinite), last = finite[finite.length - 1];
  scale(id, finite.length ? [`> ${seconds(last)}`, seconds(finite[Math.floor(finite.length / 2)]), `≤ ${seconds(finite[0])}`]
    : ["", "", ""]);
  // Under the pointer the bucket that it shows, elsewhere the strongest of the step.
  drawn.words[id] = i => {
    const rate = rates[i] || [], row = pointer?.id === id ? Math.min(rows - 1, Math.floor((1 - pointer.y) * rows))
      : rate.indexOf(Math.max(...rate));
    return [rate[row] > 0 || pointer?.id === id ? `${bucketName(bounds, row)}: ${number(rate[row] || 0)}/s` : "–"];
  };
  canvas.setAttribute("aria-label", `${titleOf(id)}, ` + (highest ? `from ${seconds(finite[0])} to over ${seconds(last)}; `
    + `at most ${number(highest)} requests a second in one bucket` : "none yet"));
}

function charts() {
  setSpan();
  for (const side of SIDES) if (isSideShown(side)) chartsOf(side);
  for (const node of document.querySelectorAll(".from")) setText(node, `${drawn.span / 60000} min ago`);
  readOut();
}

function chartsOf(side) {
  const sums = drawn.steps.map(step => sumOf(step, side)), { bounds } = known[side];
  lines(`${side}-rate`, [sums.map((sum, i) => rateOf(sum[COUNT], drawn.steps[i]))], number, 1);
  lines(`${side}-share`, [ERRORS, REFUSED].map(place => sums.map(sum => share(sum, place))), percent, 0.01);
  lines(`${side}-latency`, [.5, .9, .99].map(q => sums.map(sum => quantile(q, sum, bounds))), seconds, 0.001, true, "≈\u00a0");
  heat(`${side}-heat`, sums, bounds);
}

// Where the pointer is on a chart: `x` and `y` from 0 to 1.
let pointer;

// All charts say what they show at the moment under the pointer, or at the last one.
function readOut() {
  const time = pointer && known.time - (1 - pointer.x) * drawn.span;
  const index = pointer ? drawn.steps.findIndex(step => step.from <= time && time < step.to) : drawn.steps.length - 1;
  for (const [id, words] of Object.entries(drawn.words)) words(index).forEach((text, i) => setText($(`${id}-now-${i}`), text));
  for (const node of document.querySelectorAll(".moment")) setText(node, pointer ? clock(time) : "");
  for (const node of document.querySelectorAll(".cross")) {
    node.hidden = !pointer;
    if (pointer) node.style.left = `${100 * pointer.x}%`;
  }
}

function point(event) {
  const area = event.target.closest?.(".area"), box = area?.getBoundingClientRect();
  const before = pointer;
  pointer = area && { id: area.firstChild.id, x: (event.clientX - box.left) / box.width,
    y: (event.clientY - box.top) / box.height };
  if (before || pointer) readOut();
}
