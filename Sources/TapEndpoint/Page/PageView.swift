/// The second half of the page's script: scrapes, and draws. What comes from the exposition or the log enters
/// the document as text only, never as markup.
enum PageView {
  static let script = #"""
    const INTERVAL = 2000, WINDOW = 150, WIDTH = 600, HEIGHT = 140;
    const $ = id => document.getElementById(id);
    const scrapes = [];
    let isPaused = false, hasLog = true;

    const matches = labels => (!$("client").value || labels.client === $("client").value)
      && (!$("host").value || labels.server_address === $("host").value);

    function element(name, attributes, text) {
      const node = document.createElementNS(name === "polyline" || name === "rect" ? "http://www.w3.org/2000/svg"
        : "http://www.w3.org/1999/xhtml", name);
      for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
      if (text !== undefined) node.textContent = text;
      return node;
    }

    function options(select, values) {
      const known = new Set([...select.options].map(option => option.value));
      for (const value of [...values].sort()) {
        if (!known.has(value) && select.options.length < 200) select.append(element("option", { value }, value));
      }
    }

    function lines(id, columns, format, label) {
      const highest = Math.max(...columns.flat().filter(Number.isFinite), 0);
      const step = WIDTH / (WINDOW - 1);
      $(id).replaceChildren(...columns.map((values, index) => {
        const first = WINDOW - values.length;
        const points = values.map((value, i) => Number.isFinite(value)
          ? `${((first + i) * step).toFixed(1)},${(HEIGHT - 4 - (highest ? value / highest : 0) * (HEIGHT - 12)).toFixed(1)}` : null);
        return element("polyline", { class: ["one", "two", "three"][index], points: points.filter(Boolean).join(" ") });
      }));
      const last = columns.map(values => values.length ? format(values[values.length - 1]) : "–").join(", ");
      $(id + "-now").textContent = last;
      $(id).setAttribute("aria-label", `${label}: now ${last}, highest ${format(highest)}`);
    }

    function heat(steps) {
      const bounds = [...new Set(steps.flatMap(step => [...step.buckets.keys()]))].sort((a, b) => a - b);
      const cells = steps.map(step => bounds.map((bound, i) =>
        (step.buckets.get(bound) || 0) - (i ? step.buckets.get(bounds[i - 1]) || 0 : 0)));
      const highest = Math.max(...cells.flat(), 1);
      const width = WIDTH / WINDOW, height = HEIGHT / Math.max(bounds.length, 1);
      const rects = [];
      cells.forEach((column, i) => column.forEach((count, j) => {
        if (count > 0) rects.push(element("rect", { x: ((WINDOW - cells.length + i) * width).toFixed(2), width: width.toFixed(2),
          y: (HEIGHT - (j + 1) * height).toFixed(2), height: height.toFixed(2),
          "fill-opacity": (0.15 + 0.85 * Math.log1p(count) / Math.log1p(highest)).toFixed(2) }));
      }));
      $("heat").replaceChildren(...rects);
      const text = bounds.length > 1 ? `${seconds(bounds[0])} to over ${seconds(bounds[bounds.length - 2])}` : "–";
      $("heat-now").textContent = text;
      $("heat").setAttribute("aria-label", `Requests by latency over time, ${text}`);
    }

    function rows(id, list, makeCells) {
      $(id).replaceChildren(...list.map(item => {
        const row = element("tr", item.severity ? { class: item.severity } : {});
        row.append(...makeCells(item).map(([text, isNumber]) => element("td", isNumber ? { class: "number" } : {}, text)));
        return row;
      }));
    }

    function slowest(all) {
      const groups = new Map();
      for (const one of all) {
        const { client, http_request_method: method, server_address: host, url_template: template } = one.labels;
        const key = JSON.stringify([client, method, host, template]);
        if (!groups.has(key)) groups.set(key, { client, method, host, template, list: [] });
        groups.get(key).list.push(one);
      }
      const ranked = [...groups.values()].map(group => {
        const sum = total(group.list);
        return { ...group, ...sum, p99: quantile(.99, sum.buckets) };
      }).filter(group => group.count).sort((a, b) => b.p99 - a.p99 || b.count - a.count).slice(0, 10);
      rows("slowest", ranked, g => [[g.client || "–"], [g.method || "–"], [g.host || "–"], [g.template || "–"],
        [number(g.count), true], [number(g.errors), true], [seconds(g.sum / g.count), true], [seconds(g.p99), true]]);
    }

    function draw() {
      if (!scrapes.length) return;
      const totals = scrapes.map(scrape => total([...scrape.series.values()].filter(one => matches(one.labels))));
      const last = totals[totals.length - 1], latest = scrapes[scrapes.length - 1];
      $("requests").textContent = number(last.count);
      $("errors").textContent = last.count ? `${number(last.errors)} (${percent(last.errors / last.count)})` : "0";
      $("active").textContent = number(latest.active.filter(s => matches(s.labels)).reduce((sum, s) => sum + s.value, 0));
      for (const [id, q] of [["p50", .5], ["p90", .9], ["p99", .99]]) $(id).textContent = seconds(quantile(q, last.buckets));
      const steps = totals.slice(1).map((now, i) => ({ ...difference(now, totals[i]), time: (scrapes[i + 1].time - scrapes[i].time) / 1000 }));
      lines("rate", [steps.map(s => s.count / s.time)], number, "Requests per second");
      lines("share", [steps.map(s => s.count ? s.errors / s.count : 0)], percent, "Share of errors");
      lines("latency", [.5, .9, .99].map(q => steps.map(s => quantile(q, s.buckets))), seconds, "Latency p50, p90, p99");
      heat(steps);
      slowest([...latest.series.values()].filter(one => matches(one.labels)));
    }

    async function tail() {
      const answer = await fetch("/logs?limit=20", { cache: "no-store" });
      hasLog = answer.ok;
      $("log-section").hidden = !hasLog;
      if (!hasLog) return;
      const entries = (await answer.text()).trim().split("\n").filter(Boolean).map(line => {
        try { return JSON.parse(line); } catch { return { event: line }; }
      }).reverse();
      rows("log", entries, e => [[e.timestamp || ""], [e.severity || ""], [e.client || ""],
        [e["url.full"] ? `${e["http.request.method"]} ${e["url.full"]}` : e.event || ""],
        [String(e["http.response.status_code"] ?? e["error.type"] ?? e.outcome ?? ""), true],
        [e.duration_s === undefined ? "" : seconds(e.duration_s), true]]);
    }

    async function scrape() {
      try {
        const answer = await fetch("/metrics", { cache: "no-store", headers: { Accept: "text/plain;version=0.0.4" } });
        if (!answer.ok) throw new Error(`/metrics answers ${answer.status}`);
        const samples = parse(await answer.text());
        const now = { time: performance.now(), series: series(samples), active: samples.get(ACTIVE) || [] };
        scrapes.push(now);
        if (scrapes.length > WINDOW + 1) scrapes.shift();
        options($("client"), new Set([...now.series.values()].map(one => one.labels.client).filter(Boolean)));
        options($("host"), new Set([...now.series.values()].map(one => one.labels.server_address).filter(Boolean)));
        draw();
        if (hasLog && $("log-section").dataset.on) await tail();
        $("status").className = "";
        $("status").textContent = `Live, every ${INTERVAL / 1000} s`;
      } catch (error) {
        $("status").className = "failed";
        $("status").textContent = `No scrape: ${error.message}`;
      }
    }

    async function live() {
      for (;;) {
        if (!isPaused && !document.hidden) await scrape();
        await new Promise(resume => setTimeout(resume, INTERVAL));
      }
    }

    $("filters").addEventListener("change", draw);
    $("filters").addEventListener("submit", event => event.preventDefault());
    $("pause").addEventListener("click", () => {
      isPaused = !isPaused;
      $("pause").setAttribute("aria-pressed", String(isPaused));
      $("pause").textContent = isPaused ? "Resume" : "Pause";
      if (isPaused) $("status").textContent = "Paused";
    });
    live();

    """#
}
