/// The part of the page's script that adds the scrapes up. It touches no document.
enum PageSteps {
  static let script = #"""
    const WINDOW = 600000;

    // The series as they were at the last scrape, of the requests that are made and of those that are served, and what happened
    // between the scrapes of the last minutes. A step keeps sums by party, which is a client and host or a route, and only of
    // those that had requests: its size does not depend on the number of series.
    const known = { made: { series: new Map(), bounds: [], partyOf }, served: { series: new Map(), bounds: [], partyOf: routeOf },
      active: new Map(), serving: new Map(), phases: new Map(), opened: new Map(), steps: [], phaseBounds: [], time: undefined };
    const SIDES = ["made", "served"];

    const makeStep = (from, to) => ({ from, to, made: new Map(), served: new Map(), sums: {} });

    function learn(scrape, now) {
      for (const name of SIDES) forgetOtherBuckets(name, scrape[name]);
      const step = makeStep(known.time, now);
      for (const name of SIDES) learnSide(known[name], scrape[name], step[name]);
      known.active = latest(scrape.active, known.active);
      known.serving = latest(scrape.serving, known.serving);
      known.phases = latest(scrape.phases.series, known.phases);
      known.phaseBounds = scrape.phases.bounds;
      known.opened = latest(scrape.opened, known.opened);
      if (step.from !== undefined) known.steps.push(step);
      known.steps = known.steps.filter(one => one.to > now - WINDOW);
      known.time = now;
    }

    // Other buckets: the app was restarted with another configuration.
    function forgetOtherBuckets(name, { series, bounds }) {
      const side = known[name];
      if (!series.size || !side.bounds.length || side.bounds.join() === bounds.join()) return;
      side.series.clear();
      for (const step of known.steps) {
        step[name].clear();
        step.sums = {};
      }
    }

    function learnSide(side, histograms, parties) {
      if (histograms.series.size) side.bounds = histograms.bounds;
      const series = new Map();
      for (const [text, numbers] of histograms.series) {
        const before = side.series.get(text);
        const one = before || describe(text, side);
        if (one.isError) numbers[ERRORS] = numbers[COUNT];
        // After a restart the counters begin at 0.
        const base = before && before.numbers[COUNT] <= numbers[COUNT] ? before.numbers : undefined;
        if (numbers[COUNT] > (base ? base[COUNT] : 0)) {
          const sum = sumFor(one.party, parties, numbers.length - BUCKETS);
          for (let i = 0; i < numbers.length; i++) sum[i] += numbers[i] - (base ? base[i] : 0);
        }
        one.numbers = Float64Array.from(numbers);
        series.set(text, one);
      }
      side.series = series;
    }

    // The sums of a party in a step.
    function sumFor(party, parties, bucketCount) {
      let one = parties.get(party.key);
      if (!one) parties.set(party.key, one = { ...party, numbers: new Float64Array(BUCKETS + bucketCount) });
      return one.numbers;
    }

    // The values of a scrape, each with whose it is. Labels are read once for each series.
    function latest(values, before) {
      return new Map([...values].map(([text, value]) => {
        const labels = before.has(text) ? undefined : labelsOf(text);
        return [text, { ...(before.get(text) || { ...partyOf(labels), phase: labels.phase }), value }];
      }));
    }

    // A server's 4xx have no error_type: they say that the caller made the error.
    function describe(text, side) {
      const labels = labelsOf(text);
      return { labels, party: side.partyOf(labels), isError: "error_type" in labels };
    }

    function add(total, numbers) {
      for (let i = 0; i < numbers.length; i++) total[i] += numbers[i];
      return total;
    }

    const nothing = bounds => new Float64Array(BUCKETS + bounds.length);

    // What happened in a step to those who are chosen. It is added up once for each choice.
    function sumOf(step, name, choice) {
      if (step.sums[name]?.key !== choice.key) {
        const numbers = nothing(known[name].bounds);
        for (const party of step[name].values()) if (choice.has(party)) add(numbers, party.numbers);
        step.sums[name] = { key: choice.key, numbers };
      }
      return step.sums[name].numbers;
    }

    """#
}

/// The part of the page's script that estimates quantiles, and writes numbers as text.
enum PageNumbers {
  static let script = #"""
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

    """#
}
