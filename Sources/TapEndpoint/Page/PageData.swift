/// The first half of the page's script: reads the exposition and adds it up. It touches no document.
enum PageData {
  static let script = #"""
    "use strict";
    const DURATION = "http_client_request_duration_seconds";
    const ACTIVE = "http_client_active_requests";
    const escapes = { "\\n": "\n", "\\\\": "\\", '\\"': '"' };

    // The samples of the text format by name (Prometheus, "Exposition formats").
    function parse(text) {
      const samples = new Map();
      for (const line of text.split("\n")) {
        const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
        if (!match) continue;
        const labels = {};
        for (const pair of (match[2] || "").matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
          labels[pair[1]] = pair[2].replace(/\\[n\\"]/g, escape => escapes[escape]);
        }
        const value = Number(match[3].replace("Inf", "Infinity"));
        if (!samples.has(match[1])) samples.set(match[1], []);
        samples.get(match[1]).push({ labels, value });
      }
      return samples;
    }

    // One object for each series of the duration: its labels, count, sum, and cumulative buckets.
    function series(samples) {
      const all = new Map();
      const get = labels => {
        const { le, ...rest } = labels;
        const key = JSON.stringify(rest);
        if (!all.has(key)) all.set(key, { key, labels: rest, count: 0, sum: 0, buckets: new Map() });
        return all.get(key);
      };
      for (const s of samples.get(DURATION + "_count") || []) get(s.labels).count = s.value;
      for (const s of samples.get(DURATION + "_sum") || []) get(s.labels).sum = s.value;
      for (const s of samples.get(DURATION + "_bucket") || []) {
        get(s.labels).buckets.set(s.labels.le === "+Inf" ? Infinity : Number(s.labels.le), s.value);
      }
      return all;
    }

    const isError = labels => "error_type" in labels;

    function total(list) {
      const sum = { count: 0, errors: 0, sum: 0, buckets: new Map() };
      for (const one of list) {
        sum.count += one.count;
        sum.sum += one.sum;
        if (isError(one.labels)) sum.errors += one.count;
        for (const [bound, value] of one.buckets) sum.buckets.set(bound, (sum.buckets.get(bound) || 0) + value);
      }
      return sum;
    }

    // What happened between two totals. After a restart the counters begin anew.
    function difference(now, before) {
      const base = before && before.count <= now.count ? before : { count: 0, errors: 0, buckets: new Map() };
      const buckets = new Map();
      for (const [bound, value] of now.buckets) buckets.set(bound, Math.max(0, value - (base.buckets.get(bound) || 0)));
      return { count: now.count - base.count, errors: Math.max(0, now.errors - base.errors), buckets };
    }

    // As PromQL's histogram_quantile: linear within a bucket, the highest finite bound beyond it.
    function quantile(q, buckets) {
      const sorted = [...buckets].sort((a, b) => a[0] - b[0]);
      const all = sorted.length ? sorted[sorted.length - 1][1] : 0;
      if (!all) return NaN;
      const rank = q * all;
      let lower = 0, below = 0;
      for (const [bound, value] of sorted) {
        if (value >= rank && value > below) {
          if (bound === Infinity) return lower;
          return lower + (bound - lower) * ((rank - below) / (value - below));
        }
        lower = bound;
        below = value;
      }
      return lower;
    }

    const seconds = value => Number.isNaN(value) ? "–"
      : value < 0.9995 ? `${Number((value * 1000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
    const number = value => value.toLocaleString("en-US", { maximumFractionDigits: 2 });
    const percent = value => `${Number((value * 100).toPrecision(3))} %`;

    """#
}
