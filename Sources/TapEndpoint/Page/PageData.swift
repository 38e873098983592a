/// The first part of the page's script: reads the exposition as it arrives. It touches no document.
enum PageReading {
  static let script = #"""
    "use strict";
    const DURATION = "http_client_request_duration_seconds", ACTIVE = "http_client_active_requests";
    const PHASE = "http_client_request_phase_duration_seconds", OPENED = "http_client_connections_opened_total";
    const NAMES = [DURATION, PHASE, ACTIVE, OPENED];
    const METRICS = `metrics?${NAMES.map(name => `name[]=${name}`).join("&")}`;
    const ESCAPES = { "\\n": "\n", "\\\\": "\\", '\\"': '"' };
    // The places in an array of numbers: these three, then the requests in each bucket, not cumulative.
    const COUNT = 0, SUM = 1, ERRORS = 2, BUCKETS = 3;

    // Gives the page back to its reader after some milliseconds: it must scroll while thousands of series are read.
    let sliceEnd = 0;
    async function breathe() {
      if (performance.now() < sliceEnd) return;
      await new Promise(resume => setTimeout(resume));
      sliceEnd = performance.now() + 8;
    }

    async function get(address, accept) {
      const answer = await fetch(address, { cache: "no-store", headers: { Accept: accept }, signal: AbortSignal.timeout(10000) })
        .catch(() => { throw new Error("the app does not answer"); });
      if (!answer.ok) throw new Error(`/${address.split("?")[0]} answers ${answer.status}`);
      return answer;
    }

    async function readLines(answer, take) {
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const text = rest + value;
        let start = 0, end;
        while ((end = text.indexOf("\n", start)) >= 0) {
          take(text.slice(start, end));
          start = end + 1;
        }
        rest = text.slice(start);
        await breathe();
      }
    }

    // The labels of a sample (Prometheus, "Exposition formats").
    function labelsOf(text) {
      const labels = {};
      for (const [, name, value] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
        labels[name] = value.replace(/\\[n\\"]/g, escape => ESCAPES[escape]);
      }
      return labels;
    }

    // Whose requests: what the filters choose by.
    function partyOf(labels) {
      const port = labels.server_port;
      const host = labels.server_address === undefined ? "" : labels.server_address
        + (port === undefined || port === "443" || port === "80" ? "" : ":" + port);
      const client = labels.client || "";
      return { client, host, key: JSON.stringify([client, host]) };
    }

    // One scrape: what each family has by the text of the labels.
    class Scrape {
      durations = new Histograms();
      phases = new Histograms();
      active = new Map();
      opened = new Map();

      take(line) {
        const name = NAMES.find(name => line.startsWith(name));
        if (!name) return;
        const brace = line.indexOf("{"), space = line.lastIndexOf(" ");
        const suffix = line.slice(name.length, brace < 0 ? space : brace);
        const text = brace < 0 ? "" : line.slice(brace + 1, line.lastIndexOf("}")), value = Number(line.slice(space + 1));
        if (name === DURATION) this.durations.take(suffix, text, value);
        else if (name === PHASE) this.phases.take(suffix, text, value);
        else (name === ACTIVE ? this.active : this.opened).set(text, value);
      }
    }

    // The numbers of each series of a histogram.
    class Histograms {
      series = new Map();
      bounds = [];
      #text; #numbers;

      take(suffix, text, value) {
        if (suffix === "_bucket") {
          // The bound is always the last label. In another one's value, the quotation mark would be escaped.
          const bound = text.lastIndexOf('le="');
          const numbers = this.#numbersOf(text.slice(0, bound));
          if (this.series.size === 1) this.bounds.push(Number(text.slice(bound + 4, -1).replace("+Inf", "Infinity")));
          numbers.push(value - numbers.below);
          numbers.below = value;
        } else if (suffix === "_count" || suffix === "_sum") {
          this.#numbersOf(text && text + ",")[suffix === "_count" ? COUNT : SUM] = value;
        }
      }

      #numbersOf(text) {
        if (text !== this.#text) {
          this.#text = text;
          this.#numbers = this.series.get(text);
          if (!this.#numbers) {
            this.#numbers = [0, 0, 0];
            this.#numbers.below = 0;
            this.series.set(text, this.#numbers);
          }
        }
        return this.#numbers;
      }
    }

    """#
}

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
      // Other buckets: the app was restarted with another configuration.
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
        // After a restart the counters begin at 0.
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
