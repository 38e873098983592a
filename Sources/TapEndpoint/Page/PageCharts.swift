/// The third part of the page's script: draws the charts.
enum PageCharts {
  static let script = #"""
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
      return [60000, 120000, WINDOW].find(span => span >= time) || WINDOW;
    }

    const across = (time, width) => width * (1 - (known.time - time) / span());

    function scale(id, texts) {
      $(id + "-scale").replaceChildren(...texts.map(text => element("span", {}, text)));
    }

    // A line for each column, interrupted where there is no value. The scale begins at 0, or is logarithmic from the least
    // value on: a p99 of seconds must not hide a p50 of milliseconds.
    function lines(id, columns, format, least, isLogarithmic) {
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
      const last = columns.map(values => values.length ? format(values[values.length - 1]) : "–");
      last.forEach((text, i) => $(columns.length > 1 ? `${id}-now-${i}` : `${id}-now`).textContent = text);
      $(id).setAttribute("aria-label", `${$(id).dataset.label}: now ${last.join(", ")}; highest ${format(highest)}`);
    }

    // A column for each step, a row for each bucket; the more requests, the stronger.
    function heat(sums) {
      const canvas = $("heat"), rows = Math.max(known.bounds.length, 1);
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
      const context = canvas.getContext("2d"), height = canvas.height / rows;
      context.fillStyle = getComputedStyle(canvas).color;
      let highest = 0;
      for (const sum of sums) for (let i = BUCKETS; i < sum.length; i++) highest = Math.max(highest, sum[i]);
      sums.forEach((sum, i) => {
        const left = Math.floor(across(known.steps[i].from, canvas.width)), right = Math.ceil(across(known.steps[i].to, canvas.width));
        for (let row = 0; row < rows; row++) {
          const count = sum[BUCKETS + row];
          if (!(count > 0)) continue;
          context.globalAlpha = 0.2 + 0.8 * Math.log1p(count) / Math.log1p(highest);
          context.fillRect(left, Math.floor((rows - 1 - row) * height), right - left, Math.ceil(height));
        }
      });
      const finite = known.bounds.filter(Number.isFinite);
      const middle = finite[Math.floor(finite.length / 2)];
      scale("heat", finite.length ? [`> ${seconds(finite[finite.length - 1])}`, seconds(middle), `≤ ${seconds(finite[0])}`] : ["", "", ""]);
      $("heat-now").textContent = highest ? `strongest: ${number(highest)} in ${INTERVAL / 1000} s` : "–";
      canvas.setAttribute("aria-label", `${canvas.dataset.label}, `
        + (highest ? `from ${seconds(finite[0])} to over ${seconds(finite[finite.length - 1])}; at most ${number(highest)} requests in one bucket` : "none yet"));
    }

    function charts(choice) {
      const sums = known.steps.map(step => sumOf(step, choice));
      lines("rate", [sums.map((sum, i) => sum[COUNT] * 1000 / (known.steps[i].to - known.steps[i].from))], number, 1);
      lines("share", [sums.map(share)], percent, 0.01);
      lines("latency", [.5, .9, .99].map(q => sums.map(sum => quantile(q, sum))), seconds, 0.001, true);
      heat(sums);
      for (const node of document.querySelectorAll(".times")) node.firstChild.textContent = `${span() / 60000} min ago`;
    }

    """#
}

/// The part of the page's script that shows where the time goes. The colours of the phases are told apart by those who see
/// no red, no green or no blue: simulated (Machado, 2009), any two are at least 0.18 apart in OKLab, light and dark.
enum PagePhases {
  static let script = #"""
    const PHASES = ["queue", "resolve", "connect", "tls", "processing", "transfer"];

    // By client and host, those with the most time first. A request is known by its duration; a phase may be unknown.
    function phaseGroups(choice) {
      const groups = new Map();
      const groupOf = ({ key, client, host }) => {
        if (!groups.has(key)) {
          groups.set(key, { client: client || "–", host: host || "–", phases: new Map(), opened: NaN, requests: 0, connected: 0, time: 0 });
        }
        return groups.get(key);
      };
      for (const one of known.phases.values()) {
        if (!choice.has(one)) continue;
        const { phases } = groupOf(one);
        phases.set(one.phase, add(phases.get(one.phase) || nothing(known.phaseBounds), one.value));
      }
      for (const one of known.opened.values()) {
        if (!choice.has(one)) continue;
        const group = groupOf(one);
        group.opened = (group.opened || 0) + one.value;
      }
      for (const { party, labels, numbers } of known.series.values()) {
        const group = groups.get(party.key);
        if (!group || labels.cache === "hit") continue;
        group.requests += numbers[COUNT];
        group.time += numbers[SUM];
        if (!/^(connect|dns|tls)$/.test(labels.error_type)) group.connected += numbers[COUNT];
      }
      return [...groups.values()].filter(group => group.requests).sort((a, b) => b.time - a.time);
    }

    // The phases of a group in their order, and what is left of its time.
    function piecesOf({ phases, time }) {
      const pieces = PHASES.filter(name => phases.has(name)).map(name => ({ name, time: phases.get(name)[SUM] }));
      const rest = time - pieces.reduce((sum, piece) => sum + piece.time, 0);
      return rest > time / 200 ? [...pieces, { name: "unknown", time: rest }] : pieces;
    }

    // A bar for those who see it, and the same in words for everybody.
    function phaseItem(group) {
      const item = element("li"), title = element("p"), bar = element("div", { class: "bar", "aria-hidden": "true" }), words = element("p");
      const facts = element("span", { class: "now" }), { requests, connected, opened, time } = group;
      facts.append(element("b", {}, `${seconds(time / requests)} mean`),
        element("span", {}, `${number(requests)} ${requests === 1 ? "request" : "requests"}`));
      const reused = connected ? Math.max(0, 1 - opened / connected) : NaN;
      if (Number.isFinite(reused)) facts.append(element("span", {}, `${percent(reused)} on a reused connection`));
      title.append(element("b", {}, `${group.client} → ${group.host}`), facts);
      for (const piece of piecesOf(group)) {
        const mean = seconds(piece.time / requests), part = time ? piece.time / time : 0;
        const node = element("span", { class: piece.name, title: `${piece.name} ${mean}, ${percent(part)}` });
        node.style.flexGrow = 100 * part;
        bar.append(node);
        words.append(element("span", { class: `phase ${piece.name}` }, `${piece.name} ${mean}`));
      }
      item.append(title, bar, words);
      return item;
    }

    function phases(choice) {
      const all = phaseGroups(choice), groups = all.slice(0, 10), isKnown = all.some(({ phases }) => phases.size);
      $("phases-part").hidden = ![...known.series.values()].some(one => choice.has(one.party));
      $("phases-none").hidden = isKnown;
      $("phases-there").hidden = !isKnown;
      $("phases").replaceChildren(...groups.map(phaseItem));
      if (!$("phase-numbers").open) return;
      fill("by-phase", groups.flatMap(({ client, host, phases }) => PHASES.filter(name => phases.has(name)).map(name => {
        const numbers = phases.get(name);
        return { cells: [client, host, name, [number(numbers[COUNT])], [seconds(numbers[SUM] / numbers[COUNT])],
          [seconds(quantile(.99, numbers, known.phaseBounds))]] };
      })), "");
    }

    """#
}
