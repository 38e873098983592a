/// The second part of the page's script: what the scrapes amount to. It touches no document.
enum PageHistory {
  static let script = #"""
    const WINDOW = 300000;

    // The series as they were at the last scrape, and what happened between the scrapes of the last minutes. A step
    // keeps sums by client and host, and only of those that had requests: its size does not depend on the number of series.
    const known = { series: new Map(), active: new Map(), phases: new Map(), opened: new Map(), steps: [], bounds: [],
      phaseBounds: [], time: undefined };

    function learn(scrape, now) {
      const { series: durations, bounds } = scrape.durations;
      // Other buckets: the app was started anew, with another configuration.
      if (known.series.size && durations.size && known.bounds.join() !== bounds.join()) {
        known.series.clear();
        known.steps = [];
        known.time = undefined;
      }
      if (durations.size) known.bounds = bounds;
      const step = { from: known.time, to: now, parties: new Map() };
      const series = new Map();
      for (const [text, numbers] of durations) {
        const before = known.series.get(text);
        const one = before || describe(text);
        if (one.isError) numbers[ERRORS] = numbers[COUNT];
        // After a restart the counters begin anew.
        const base = before && before.numbers[COUNT] <= numbers[COUNT] ? before.numbers : undefined;
        if (numbers[COUNT] > (base ? base[COUNT] : 0)) {
          let party = step.parties.get(one.party.key);
          if (!party) step.parties.set(one.party.key, party = { ...one.party, numbers: new Float64Array(numbers.length) });
          for (let i = 0; i < numbers.length; i++) party.numbers[i] += numbers[i] - (base ? base[i] : 0);
        }
        one.numbers = Float64Array.from(numbers);
        series.set(text, one);
      }
      known.series = series;
      known.active = latest(scrape.active, known.active);
      known.phases = latest(scrape.phases.series, known.phases);
      known.phaseBounds = scrape.phases.bounds;
      known.opened = latest(scrape.opened, known.opened);
      if (step.from !== undefined) known.steps.push(step);
      known.steps = known.steps.filter(one => one.to > now - WINDOW);
      known.time = now;
    }

    // The values of a scrape, each with whose it is. Labels are read once for each series.
    function latest(values, before) {
      return new Map([...values].map(([text, value]) => {
        const labels = before.has(text) ? undefined : labelsOf(text);
        return [text, { ...(before.get(text) || { ...partyOf(labels), phase: labels.phase }), value }];
      }));
    }

    function describe(text) {
      const labels = labelsOf(text);
      return { labels, party: partyOf(labels), isError: "error_type" in labels };
    }

    function add(total, numbers) {
      for (let i = 0; i < numbers.length; i++) total[i] += numbers[i];
      return total;
    }

    const nothing = (bounds = known.bounds) => new Float64Array(BUCKETS + bounds.length);

    // What happened in a step to those who are chosen. It is added up once for each choice.
    function sumOf(step, choice) {
      if (step.choice !== choice.key) {
        step.choice = choice.key;
        step.sum = nothing();
        for (const party of step.parties.values()) if (choice.has(party)) add(step.sum, party.numbers);
      }
      return step.sum;
    }

    // As PromQL's histogram_quantile: linear within a bucket, the highest finite bound beyond it.
    function quantile(q, numbers, bounds = known.bounds) {
      let all = 0;
      for (let i = BUCKETS; i < numbers.length; i++) all += numbers[i];
      if (!all) return NaN;
      const rank = q * all;
      let lower = 0, below = 0;
      for (let i = BUCKETS; i < numbers.length; i++) {
        const bound = bounds[i - BUCKETS], count = numbers[i];
        if (count > 0 && below + count >= rank) {
          return bound === Infinity ? lower : lower + (bound - lower) * ((rank - below) / count);
        }
        if (bound !== Infinity) lower = bound;
        below += count;
      }
      return lower;
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
