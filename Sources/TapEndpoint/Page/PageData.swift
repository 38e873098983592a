/// The first part of the page's script: reads the exposition as it arrives. It touches no document.
enum PageReading {
  static let script = #"""
    "use strict";
    const DURATION = "http_client_request_duration_seconds", ACTIVE = "http_client_active_requests";
    const PHASE = "http_client_request_phase_duration_seconds", OPENED = "http_client_connections_opened_total";
    const SERVED = "http_server_request_duration_seconds", SERVING = "http_server_active_requests";
    const NAMES = [DURATION, PHASE, ACTIVE, OPENED, SERVED, SERVING];
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

    // Whose requests are made: what the filters choose by.
    function partyOf(labels) {
      const port = labels.server_port;
      const host = labels.server_address === undefined ? "" : labels.server_address
        + (port === undefined || port === "443" || port === "80" ? "" : ":" + port);
      const client = labels.client || "";
      return { client, host, key: JSON.stringify([client, host]) };
    }

    // What is asked for in the requests that the app serves.
    function routeOf(labels) {
      const method = labels.http_request_method || "", route = labels.http_route || "";
      return { method, route, key: JSON.stringify([method, route]) };
    }

    // One scrape: what each family has by the text of the labels.
    class Scrape {
      made = new Histograms();
      served = new Histograms();
      phases = new Histograms();
      active = new Map();
      serving = new Map();
      opened = new Map();

      take(line) {
        const name = NAMES.find(name => line.startsWith(name));
        if (!name) return;
        const brace = line.indexOf("{"), space = line.lastIndexOf(" ");
        const suffix = line.slice(name.length, brace < 0 ? space : brace);
        const text = brace < 0 ? "" : line.slice(brace + 1, line.lastIndexOf("}")), value = Number(line.slice(space + 1));
        const histograms = { [DURATION]: this.made, [SERVED]: this.served, [PHASE]: this.phases }[name];
        if (histograms) histograms.take(suffix, text, value);
        else ({ [ACTIVE]: this.active, [SERVING]: this.serving, [OPENED]: this.opened })[name].set(text, value);
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
