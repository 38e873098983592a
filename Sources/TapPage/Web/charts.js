// Numbers as text, and the charts.
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
const number = value => value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });
const percent = value => `${Number((value * 100).toPrecision(3))}\u00a0%`;
const share = numbers => numbers[COUNT] ? numbers[ERRORS] / numbers[COUNT] : 0;

const WIDTH = 600, HEIGHT = 140;
const $ = id => document.getElementById(id);

function element(name, attributes, text) {
  const node = document.createElementNS(name === "path" ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// The least of 1, 2, 5, 10, 20, … that is not below.
function roundTop(value, least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, least)));
  return [1, 2, 5, 10].map(step => step * power).find(top => top >= value * 0.999) || least;
}

// The charts begin with the last minute, and cover more as there is more.
function span() {
  const time = known.steps.length ? known.time - known.steps[0].from : 0;
  return [60000, 120000, 300000].find(span => span >= time) || WINDOW;
}

const across = (time, width) => width * (1 - (known.time - time) / span());

const titleOf = id => $(id).closest("figure").querySelector("figcaption span").textContent;

function scale(id, texts) {
  $(id + "-scale").replaceChildren(...texts.map(text => element("span", {}, text)));
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
      path += `${isDrawing ? "" : `M${x(known.steps[i].from)} ${y}`}L${x(known.steps[i].to)} ${y}`;
      isDrawing = true;
    });
    return element("path", { class: ["one", "two", "three"][index], d: path });
  }));
  scale(id, isLogarithmic ? [top, Math.sqrt(top * least), least].map(format) : [top, top / 2, 0].map(format));
  const said = value => Number.isFinite(value) ? sign + format(value) : "–";
  const last = columns.map(values => said(values[values.length - 1]));
  last.forEach((text, i) => $(columns.length > 1 ? `${id}-now-${i}` : `${id}-now`).textContent = text);
  $(id).setAttribute("aria-label", `${titleOf(id)}: now ${last.join(", ")}; highest ${said(highest)}`);
}

// A column for each step, a row for each bucket; the more requests in a second, the stronger.
function heat(id, sums, bounds) {
  const canvas = $(id), rows = Math.max(bounds.length, 1);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
  const context = canvas.getContext("2d"), height = canvas.height / rows;
  context.fillStyle = getComputedStyle(canvas).color;
  const rates = sums.map((sum, i) => sum.map(count => count * 1000 / (known.steps[i].to - known.steps[i].from)));
  let highest = 0, lowest = Infinity;
  for (const rate of rates) {
    for (let i = BUCKETS; i < rate.length; i++) {
      highest = Math.max(highest, rate[i]);
      if (rate[i] > 0) lowest = Math.min(lowest, rate[i]);
    }
  }
  rates.forEach((rate, i) => {
    const left = Math.floor(across(known.steps[i].from, canvas.width)), right = Math.ceil(across(known.steps[i].to, canvas.width));
    for (let row = 0; row < rows; row++) {
      if (!(rate[BUCKETS + row] > 0)) continue;
      context.globalAlpha = 0.2 + 0.8 * Math.log1p(rate[BUCKETS + row] / lowest) / Math.log1p(highest / lowest);
      context.clearRect(left, Math.floor((rows - 1 - row) * height), right - left, Math.ceil(height));
      context.fillRect(left, Math.floor((rows - 1 - row) * height), right - left, Math.ceil(height));
    }
  });
  const finite = bounds.filter(Number.isFinite);
  const middle = finite[Math.floor(finite.length / 2)];
  scale(id, finite.length ? [`> ${seconds(finite[finite.length - 1])}`, seconds(middle), `≤ ${seconds(finite[0])}`] : ["", "", ""]);
  $(id + "-now").textContent = highest ? `strongest: ${number(highest)}/s` : "–";
  const range = `from ${seconds(finite[0])} to over ${seconds(finite[finite.length - 1])}`;
  canvas.setAttribute("aria-label", `${titleOf(id)}, `
    + (highest ? `${range}; at most ${number(highest)} requests a second in one bucket` : "none yet"));
}

const ALL = { key: "", has: () => true };

// The requests that the app serves are not filtered: they have no client and no host.
function charts(choice) {
  const isServing = known.served.series.size > 0 || known.steps.some(step => step.served.size);
  for (const node of document.querySelectorAll("[data-side=served]")) node.hidden = !isServing;
  chartsOf("made", choice);
  if (isServing) chartsOf("served", ALL);
  for (const node of document.querySelectorAll(".times")) node.firstElementChild.textContent = `${span() / 60000} min ago`;
}

function chartsOf(name, choice) {
  const sums = known.steps.map(step => sumOf(step, name, choice)), { bounds } = known[name];
  lines(`${name}-rate`, [sums.map((sum, i) => sum[COUNT] * 1000 / (known.steps[i].to - known.steps[i].from))], number, 1);
  lines(`${name}-share`, [sums.map(share)], percent, 0.01);
  lines(`${name}-latency`, [.5, .9, .99].map(q => sums.map(sum => quantile(q, sum, bounds))), seconds, 0.001, true, "≈\u00a0");
  heat(`${name}-heat`, sums, bounds);
}
