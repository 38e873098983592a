// What failed and what was slow in the last minute, or in the chosen time: a sentence, and a row for each
// kind.
const MINUTE = 60000;
// In seconds. The recording rules use the same bound for the Apdex.
const SLOW = 1;

// Only whole steps count: the sum may lack the oldest seconds of the time, but has nothing older.
const isNow = step => step.from > known.time - MINUTE * (chosen.minutes || 1) - 500;

// The begin of the last series of such steps without a gap of a minute, and the end of the last step.
function timesOf(isIn) {
  let first, last;
  for (const step of known.steps.toReversed()) {
    if (first?.from - step.to > MINUTE) break;
    if (isIn(step)) [first, last] = [step, last || step];
  }
  // The history begins with the app, or ten minutes ago.
  const isOlder = first === known.steps[0] && !(hasHistory && known.time - first.from < WINDOW - 10000);
  return { since: (isOlder ? "before " : "") + clock(first.from), last: clock(last.to) };
}

function failuresNow(steps, rows) {
  const newest = newestFailures();
  return grouped(steps.flatMap(step => [...step.failures.values()]), [], one => one.key).map(one => {
    return { ...one, ...timesOf(step => step.failures.has(one.key)), line: newest.get(one.key), severity: "ERROR",
      words: failureText(one.failure), count: one.numbers[COUNT], all: rows.get(requestKey(one)).numbers[COUNT] };
  }).sort((a, b) => weightOf(b) - weightOf(a));
}

// The order of the rows: by count and share, so that what always fails stands above what mostly works. A made
// request counts twice, because it may be the cause of a served one's failure.
const weightOf = ({ count, all, side }) => count * count / all * (side === "made" ? 2 : 1);

const boundOf = ({ side }) => known[side].bounds.findIndex(bound => bound >= SLOW);
const longOf = one => one.numbers.slice(BUCKETS + boundOf(one) + 1).reduce((a, b) => a + b, 0);

// A row is slow if one request in ten took long, or if its mean is three times that of the time before.
// Time-outs count as failures.
function slowNow(row, before, timeouts) {
  const all = row.numbers[COUNT], long = longOf(row) - timeouts, isLong = long > 0 && long >= all / 10;
  const mean = MEAN.of(row), usual = before ? MEAN.of(before) : NaN;
  if (!isLong && !(!timeouts && Math.min(all, before?.numbers[COUNT]) >= 10 && mean > 3 * usual && mean - usual > .05)) return [];
  const isIn = one => requestKey(one) === row.key && (isLong ? longOf(one) > 0 : MEAN.of(one) > 3 * usual);
  return [{ ...row, ...timesOf(step => [...step[row.side].values()].some(isIn)), key: `slow ${row.key}`, severity: "WARN",
    line: !row.path && slowestOf(row, log.lines),
    words: isLong ? `took over ${seconds(row.bounds[boundOf(row)])}` : "were slower than before", count: isLong ? long : all, all,
    mean: `${seconds(mean)} on average${before ? `, ${seconds(usual)} before` : ""}` }];
}

// Without a template, a row has all paths of its host: the path of a line is an example.
const requestIn = one => one.path || !one.line ? pathOf(one) : `${nameOf(one.line)}, …`;

function sentenceOf([first, ...others], ended) {
  const time = `in the last ${chosen.minutes > 1 ? `${chosen.minutes} minutes` : "minute"}`;
  if (!ended) return `No request has ended ${time}, ${number(sum(seriesOf("active").filter(isChosenServer)))} active.`;
  if (!first) return `Nothing failed and nothing was slow ${time}: ${plural(ended, "request")}.`;
  const { count, all, side, host, method, path, line, failure, words } = first;
  return `${number(count)} of ${plural(all, path ? "request" : `${method} request`)} ${side === "made" ? "to" : "served at"} `
    + `${path ? pathOf(first) : host || "no route"} ${failure ? "failed" : words} ${time} (${failure ? words : first.mean})`
    + `${!path && line ? `, such as ${nameOf(line)}` : ""}.`
    + (others.length ? ` ${plural(others.length, "more row")} below.` : "");
}

function now() {
  const [recent, earlier] = [isNow, step => !isNow(step)].map(isWanted => known.steps.filter(isWanted));
  const [rows, before] = [recent, earlier].map(steps => new Map(SIDES.flatMap(side =>
    requestRows(side, steps.flatMap(step => [...step[side].values()]))).map(row => [row.key, row])));
  const [refused, errors] = [true, false].map(is => failuresNow(recent, rows).filter(one => isRefusal(one.failure) === is));
  const slow = [...rows.values()].flatMap(row => slowNow(row, before.get(row.key),
    sum(errors.filter(one => one.failure === "timeout" && requestKey(one) === row.key))));
  fill("wrong", [...errors, ...slow]);
  fill("refused", refused);
  setText($("wrong-title"), sentenceOf([...errors, ...slow], sum([...rows.values()])));
  $("wrong-part").className = errors.length ? "" : slow.length ? "slow" : "quiet";
  $("refused-part").hidden = !refused.length;
  setText($("refused-words"), `${plural(sum(refused), "request")} answered with a 4xx`);
}
