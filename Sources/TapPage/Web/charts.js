// Numbers as text, elements, and the charts.

// Estimates a quantile as PromQL's histogram_quantile does: linear within a bucket; beyond the last finite
// bound, that bound. Such an estimate may exceed the slowest request, so the sum of all values limits it: the
// m highest values of the bucket are at least as high as the quantile, and each other value is at least the
// lower bound of its own bucket.
function estimate(q, numbers, bounds) {
  const counts = numbers.slice(BUCKETS), lowest = bounds.map((bound, i) => i ? bounds[i - 1] : 0);
  const least = counts.reduce((sum, count, i) => sum + count * Math.max(0, lowest[i]), 0);
  const rank = q * counts.reduce((a, b) => a + b, 0);
  if (!rank) return { value: NaN };
  let below = 0;
  for (const [i, count] of counts.entries()) {
    const lower = lowest[i];
    if (count > 0 && below + count >= rank) {
      if (bounds[i] === Infinity) return { value: lower, isBeyond: true };
      const most = lower + Math.max(0, numbers[SUM] - least) / (Math.floor(below + count - rank) + 1);
      return { value: Math.min(lower + (bounds[i] - lower) * ((rank - below) / count), most) };
    }
    below += count;
  }
  return { value: lowest[lowest.length - 1], isBeyond: true };
}

// Marks an estimate, and a value beyond the last bucket.
function quantileText(q, { numbers, bounds }) {
  const { value, isBeyond } = estimate(q, numbers, bounds);
  return isFinite(value) ? `${isBeyond ? ">" : "≈"}\u00a0${seconds(value)}` : "–";
}

// Writes a number with three digits, in the largest unit that fits.
function scaled(value, units) {
  if (!isFinite(value)) return "–";
  const [unit, factor] = units.find(([, factor]) => value >= 0.9995 * factor) || units[units.length - 1];
  return `${Number((value / factor).toPrecision(3))}\u00a0${unit}`;
}
const seconds = value => scaled(value, value ? [["s", 1], ["ms", 1e-3], ["µs", 1e-6]] : [["ms", 1]]);
const bytes = value => scaled(value, [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]]);
const percent = value => scaled(value * 100, [["%", 1]]);
const number = value => isFinite(value) ? value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 }) : "–";
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const share = (numbers, place) => numbers[COUNT] ? numbers[place] / numbers[COUNT] : 0;
// Times are UTC and have 24 hours, as in the log. The page says so once, in its head.
const dateAndTime = milliseconds => Math.abs(milliseconds) < 8e15 ? new Date(milliseconds).toISOString().replace("T", " ").slice(0, -1) : "";
const clock = time => dateAndTime(epoch + time).slice(11, 19);

const $ = id => document.getElementById(id), all = selector => document.querySelectorAll(selector);

// Makes an element from its name and classes. An object argument has attributes and handlers; every other
// argument is content. Text from the metrics or the log becomes text of the document, never markup.
function element(kind, ...content) {
  const [name, ...classes] = kind.split("."), node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const one of content) {
    if (one?.constructor !== Object) node.append(...[one ?? ""].flat().map(plain));
    else for (const [key, value] of Object.entries(one)) {
      if (typeof value === "function") node[key] = value;
      else node.setAttribute(key, value);
    }
  }
  return node;
}

function setText(node, text) {
  const shown = plain(text);
  if (node.textContent !== shown) node.textContent = shown;
}

// Without what changes the direction of the text (UAX #9), which any name may have.
function plain(text) {
  return typeof text === "string" ? text.replace(/\p{Bidi_C}/gu, " ") : text;
}

const HIDDEN = { "aria-hidden": true };
const QUANTILES = [.5, .9, .99], LINES = ["one", "two", "three"], DASHES = [[], [7, 4], [1, 4]];
const rateOf = (count, { from, to }) => count * 1000 / (to - from);
// For each chart: its subject, its lines, their values in a step, the text of a value, and the least top of
// the scale. The scale of the latency is logarithmic, so that a p99 of seconds does not hide a p50 of
// milliseconds.
const CHARTS = {
  rate: ["per second", [""], (sum, step) => [rateOf(sum[COUNT], step)], number, 1],
  share: ["that failed", ["errors", "4xx"], sum => [ERRORS, REFUSED].map(place => share(sum, place)), percent, 0.01],
  latency: ["by percentile of their latency", ["p50", "p90", "p99"],
    (sum, step, bounds) => QUANTILES.map(q => estimate(q, sum, bounds).value), seconds, 0.001, true],
  heat: ["by latency", [""]],
};
const titleOf = (side, name) => `Requests ${side} ${CHARTS[name][0]}`;

function makeChart(side, name) {
  const id = `${side}-${name}`, title = titleOf(side, name), keys = CHARTS[name][1].map((key, i) =>
    element(key ? `span.key.${LINES[i]}` : "span", `${key} `, element("b", { id: `${id}-now-${i}` }, "–")));
  const scale = element("div.scale", HIDDEN, { id: `${id}-scale` }, [0, 1, 2].map(() => element("span")));
  return element("figure", element("figcaption", element("span", title), element("span.now", keys)),
    element("div.plot", scale,
      element("div.area", element("canvas", { id, role: "img", "aria-label": title }), element("i.cross", { hidden: "" })),
      element("div.times", HIDDEN, element("span.from"), element("b.moment"), element("span", "now"))));
}

// What the charts show: the chosen steps, the time that they cover, and for each chart a function that
// describes a step in words. Without a choice the charts begin with the last minute, and cover more as more
// is known.
const shown = { steps: [], charted: [], span: 60000, time: NaN, words: {}, colours: [] };

function setSpan() {
  const start = chosen.minutes ? known.time - 60000 * chosen.minutes : -Infinity;
  shown.steps = known.steps.filter(step => step.to > start);
  // A last step of less than two seconds would say little.
  shown.charted = shown.steps.filter((step, i, { length }) => i < length - 1 || !i || step.to - step.from >= 2000);
  shown.time = known.time;
  shown.span = 60000 * chosen.minutes || [60000, 120000, 300000].find(span => span >= covered() * 1000) || WINDOW;
}

// In seconds.
const covered = () => shown.steps.length ? (shown.time - shown.steps[0].from) / 1000 : 0;
const across = (time, width) => width * (1 - (shown.time - time) / shown.span);

// The smallest of 1, 2, 5, 10, 20, … that is at least the value.
function roundTop(value, least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, least)));
  return [1, 2, 5, 10].map(step => step * power).find(top => top >= value * 0.999) || least;
}

// Draws a line for each column, interrupted where there is no value. The values of a step are kept with its
// sums, because most steps never change.
function drawLines(context, sums, { bounds }, id, [, keys, valuesOf, format, least, isLogarithmic]) {
  const { width, height } = context.canvas, rows = sums.map((sum, i) => sum[id] ??= valuesOf(sum, shown.charted[i], bounds));
  const highest = Math.max(...rows.flat().filter(isFinite), 0), top = roundTop(highest, isLogarithmic ? 10 * least : least);
  const unit = devicePixelRatio, said = value => isFinite(value) ? (isLogarithmic ? "≈\u00a0" : "") + format(value) : "–";
  context.lineWidth = 2 * unit;
  keys.forEach((key, column) => {
    context.strokeStyle = shown.colours[column];
    context.setLineDash(DASHES[column].map(length => length * unit));
    context.beginPath();
    rows.forEach(({ [column]: value }, i) => {
      if (!isFinite(value)) return;
      const part = isLogarithmic ? Math.max(0, Math.log(value / least) / Math.log(top / least)) : value / top;
      const y = 2 * unit + (height - 4 * unit) * (1 - part), { from, to } = shown.charted[i];
      context[isFinite(rows[i - 1]?.[column]) ? "lineTo" : "moveTo"](across(from, width), y);
      context.lineTo(across(to, width), y);
    });
    context.stroke();
  });
  const words = i => keys.map((key, column) => said(rows[i]?.[column]));
  return { words, scale: (isLogarithmic ? [top, Math.sqrt(top * least), least] : [top, top / 2, 0]).map(format),
    summary: `now ${words(rows.length - 1).join(", ")}; highest ${said(highest)}` };
}

const bucketName = (bounds, i) => bounds[i] === Infinity ? `over ${seconds(bounds[i - 1])}` : `up to ${seconds(bounds[i])}`;

// Draws a column for each step and a row for each bucket. The colour is stronger where there are more
// requests in a second.
function drawHeat(context, sums, { bounds }, id) {
  const { width, height } = context.canvas, count = Math.max(bounds.length, 1), finite = bounds.filter(isFinite);
  const rates = sums.map((sum, i) => sum[id] ??= Array.from(sum.subarray(BUCKETS), count => rateOf(count, shown.charted[i])));
  const positive = rates.flat().filter(rate => rate > 0), highest = Math.max(...positive), lowest = Math.min(...positive);
  context.fillStyle = shown.colours[0];
  rates.forEach((rate, i) => {
    const left = Math.floor(across(shown.charted[i].from, width)), right = Math.ceil(across(shown.charted[i].to, width));
    rate.forEach((value, row) => {
      if (!(value > 0)) return;
      const box = [left, Math.floor((count - 1 - row) * height / count), right - left, Math.ceil(height / count)];
      context.globalAlpha = 0.2 + 0.8 * Math.log1p(value / lowest) / Math.log1p(highest / lowest);
      context.clearRect(...box);
      context.fillRect(...box);
    });
  });
  // Describes the bucket under the pointer, or else the strongest bucket of the step.
  const words = i => {
    const rate = rates[i] || [], isHere = pointer?.id === id;
    const row = isHere ? Math.min(count - 1, Math.floor((1 - pointer.y) * count)) : rate.indexOf(Math.max(...rate));
    return [isHere || rate[row] > 0 ? `${bucketName(bounds, row)}: ${number(rate[row] || 0)}/s` : "–"];
  };
  const [least, middle, last] = [0, finite.length >> 1, finite.length - 1].map(i => seconds(finite[i]));
  return { words, scale: [`> ${last}`, middle, `≤ ${least}`], summary: positive.length
    ? `from ${least} to over ${last}; at most ${number(highest)} requests a second in one bucket` : "none yet" };
}

function drawChart(side, name, sums) {
  const id = `${side}-${name}`, canvas = $(id), context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  const { words, scale, summary } = (name === "heat" ? drawHeat : drawLines)(context, sums, known[side], id, CHARTS[name]);
  scale.forEach((text, i) => setText($(`${id}-scale`).children[i], text));
  shown.words[id] = words;
  canvas.ariaLabel = `${titleOf(side, name)}: ${summary}`;
}

function charts() {
  for (const side of SIDES.filter(isSideShown)) {
    const sums = shown.charted.map(step => sumOf(step, side));
    for (const name of Object.keys(CHARTS)) drawChart(side, name, sums);
  }
  for (const node of all(".from")) setText(node, `${shown.span / 60000} min ago`);
  readOut();
}

// Reads the size and the colours of the charts. It is called only when they may have changed, because it
// makes the browser lay out the page.
function fit() {
  for (const canvas of all("canvas")) {
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    shown.colours = LINES.map(name => {
      canvas.style.color = `var(--${name})`;
      return getComputedStyle(canvas).color;
    });
  }
  redraw();
}

// Where the pointer is on a chart: `x` and `y` from 0 to 1.
let pointer;

// All charts show their values at the moment under the pointer, or else at the last moment.
function readOut() {
  const time = pointer && shown.time - (1 - pointer.x) * shown.span;
  const index = pointer ? shown.charted.findIndex(step => step.from <= time && time < step.to) : shown.charted.length - 1;
  for (const [id, words] of Object.entries(shown.words)) words(index).forEach((text, i) => setText($(`${id}-now-${i}`), text));
  for (const node of all(".moment")) setText(node, pointer ? clock(time) : "");
  for (const node of all(".cross")) {
    node.hidden = !pointer;
    if (pointer) node.style.left = `${100 * pointer.x}%`;
  }
}

function point({ target, clientX, clientY }) {
  const area = target.closest?.(".area"), box = area?.getBoundingClientRect(), before = pointer;
  pointer = area && { id: area.firstChild.id, x: (clientX - box.left) / box.width, y: (clientY - box.top) / box.height };
  if (before || pointer) readOut();
}
