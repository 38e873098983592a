/// The fourth part of the page's script: figures and tables. What comes from the exposition or the log enters the
/// document as text only, never as markup.
enum PageTables {
  static let script = #"""
    // A cell is a text, or a number's text in a list of its own.
    function fill(id, rows, none) {
      const columns = $(id).parentElement.querySelectorAll("thead th").length;
      $(id).replaceChildren(...(rows.length ? rows.map(({ cells, severity }) => {
        const row = element("tr", severity ? { class: severity } : {});
        row.append(...cells.map(cell => Array.isArray(cell) ? element("td", { class: "number" }, cell[0]) : element("td", {}, cell)));
        return row;
      }) : [element("tr")]));
      if (!rows.length) $(id).firstChild.append(element("td", { colspan: columns, class: "none" }, none));
    }

    function grouped(list, keyOf, start) {
      const groups = new Map();
      for (const one of list) {
        const key = keyOf(one);
        if (!groups.has(key)) groups.set(key, { ...start(one), numbers: nothing() });
        add(groups.get(key).numbers, one.numbers);
      }
      return [...groups.values()];
    }

    function figures(choice) {
      const total = nothing();
      for (const one of known.series.values()) if (choice.has(one.party)) add(total, one.numbers);
      let active = 0;
      for (const one of known.active.values()) if (choice.has(one)) active += one.value;
      $("requests").textContent = number(total[COUNT]);
      $("errors").textContent = total[ERRORS] ? `${number(total[ERRORS])} (${percent(share(total))})` : "0";
      $("active").textContent = number(active);
      for (const [id, q] of [["p50", .5], ["p90", .9], ["p99", .99]]) $(id).textContent = seconds(quantile(q, total));
    }

    // Who has requests now: by client and host, in the last minutes.
    function parties(choice) {
      const active = new Map();
      for (const one of known.active.values()) active.set(one.key, (active.get(one.key) || 0) + one.value);
      const time = known.steps.length ? (known.time - known.steps[0].from) / 1000 : 1;
      const list = grouped(known.steps.flatMap(step => [...step.parties.values()].filter(choice.has)), one => one.key, one => one);
      list.sort((a, b) => b.numbers[COUNT] - a.numbers[COUNT]);
      fill("parties", list.slice(0, 10).map(({ client, host, key, numbers }) => ({ cells: [client || "–", host || "–",
        [number(numbers[COUNT] / time)], [percent(share(numbers))], [seconds(quantile(.5, numbers))],
        [seconds(quantile(.99, numbers))], [number(active.get(key) || 0)]] })), "No request has ended since this page was opened.");
    }

    function slowest(choice) {
      const list = grouped([...known.series.values()].filter(one => choice.has(one.party)),
        ({ party, labels }) => JSON.stringify([party.key, labels.http_request_method, labels.url_template]),
        ({ party, labels }) => ({ ...party, method: labels.http_request_method, template: labels.url_template }));
      for (const one of list) one.p99 = quantile(.99, one.numbers);
      list.sort((a, b) => b.p99 - a.p99 || b.numbers[COUNT] - a.numbers[COUNT]);
      fill("slowest", list.slice(0, 10).map(one => ({ cells: [one.method || "–", one.template || "–", one.host || "–", one.client || "–",
        [number(one.numbers[COUNT])], [number(one.numbers[ERRORS])], [seconds(one.numbers[SUM] / one.numbers[COUNT])],
        [seconds(one.p99)]] })), "No request has ended yet.");
    }

    // What the charts show, for those who do not see them. Only if it is open.
    function numbers(choice) {
      if (!$("numbers").open) return;
      const rows = [], all = nothing(), part = 30000;
      for (let end = known.time; end > known.time - WINDOW && known.steps.some(step => step.to <= end); end -= part) {
        const steps = known.steps.filter(step => step.to <= end && step.to > end - part);
        const sum = steps.reduce((sum, step) => add(sum, sumOf(step, choice)), nothing());
        const time = steps.reduce((time, step) => time + step.to - step.from, 0) / 1000;
        add(all, sum);
        rows.push({ cells: [end === known.time ? "now" : `${(known.time - end) / 1000} s ago`, [time ? number(sum[COUNT] / time) : "–"],
          [percent(share(sum))], ...[.5, .9, .99].map(q => [seconds(quantile(q, sum))])] });
      }
      fill("by-time", rows, "No scrape yet.");
      fill("by-bucket", known.bounds.map((bound, i) => ({ cells: [
        bound === Infinity ? `over ${seconds(known.bounds[i - 1])}` : `up to ${seconds(bound)}`, [number(all[BUCKETS + i])]] })), "No scrape yet.");
    }

    async function log() {
      const entries = [];
      try {
        await readLines(await get("logs?limit=20", "application/x-ndjson"), line => {
          try { entries.unshift(JSON.parse(line)); } catch { entries.unshift({ message: line }); }
        });
      } catch (error) {
        return fill("log", [], `No log: ${error.message}`);
      }
      fill("log", entries.map(e => ({ severity: e.severity, cells: [(e.timestamp || "").slice(11, 23), e.severity || "", e.client || "",
        e["http.request.method"] ? `${e["http.request.method"]} ${e["url.full"] || e["url.path"] || ""}` : e.message || e.event || "",
        [String(e["http.response.status_code"] ?? e["error.type"] ?? e.outcome ?? "")],
        [e.duration_s === undefined ? "" : seconds(e.duration_s)]] })), "No line yet.");
    }

    """#
}
