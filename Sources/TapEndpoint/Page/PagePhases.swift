/// The part of the page's script that shows where the time goes. The colours of the phases are told apart by those who see
/// no red, no green or no blue: simulated (Machado, 2009), any two are at least 0.18 apart in OKLab, light and dark.
enum PagePhases {
  static let script = #"""
    const PHASES = ["queue", "resolve", "connect", "tls", "processing", "transfer"];

    // By client and host, those with the most time first: the numbers of each phase.
    function phaseGroups(choice) {
      const groups = new Map();
      for (const one of known.phases.values()) {
        if (!choice.has(one)) continue;
        if (!groups.has(one.key)) groups.set(one.key, { client: one.client || "–", host: one.host || "–", phases: new Map(), opened: NaN });
        const { phases } = groups.get(one.key);
        phases.set(one.phase, add(phases.get(one.phase) || nothing(known.phaseBounds), one.value));
      }
      for (const { key, value } of known.opened.values()) {
        const group = groups.get(key);
        if (group) group.opened = (group.opened || 0) + value;
      }
      for (const group of groups.values()) {
        const count = phase => (group.phases.get(phase) || [0])[COUNT], processing = count("processing");
        // Those that were sent, and those that ended before: they looked a name up and opened no connection.
        group.requests = Math.max(...PHASES.map(count), processing + count("resolve") - (group.opened || 0));
        group.reused = processing ? Math.max(0, 1 - group.opened / processing) : NaN;
        group.phases = PHASES.filter(count).map(name => ({ name, numbers: group.phases.get(name) }));
        group.time = group.phases.reduce((time, { numbers }) => time + numbers[SUM], 0);
      }
      return [...groups.values()].filter(group => group.requests).sort((a, b) => b.time - a.time);
    }

    // A bar for those who see it, and the same in words for everybody.
    function phaseItem({ client, host, phases, requests, reused, time }) {
      const item = element("li"), title = element("p"), bar = element("div", { class: "bar", "aria-hidden": "true" }), words = element("p");
      const facts = element("span", { class: "now" });
      facts.append(element("b", {}, `${seconds(time / requests)} mean`), element("span", {}, `${number(requests)} requests`));
      if (Number.isFinite(reused)) facts.append(element("span", {}, `${percent(reused)} on a reused connection`));
      title.append(element("b", {}, `${client} → ${host}`), facts);
      for (const { name, numbers } of phases) {
        const mean = seconds(numbers[SUM] / requests), part = time ? numbers[SUM] / time : 0;
        const piece = element("span", { class: name, title: `${name} ${mean}, ${percent(part)}` });
        piece.style.flexGrow = 100 * part;
        bar.append(piece);
        words.append(element("span", { class: `phase ${name}` }, `${name} ${mean}`));
      }
      item.append(title, bar, words);
      return item;
    }

    function phases(choice) {
      const groups = phaseGroups(choice).slice(0, 10);
      $("phases-part").hidden = ![...known.series.values()].some(one => choice.has(one.party));
      $("phases-none").hidden = groups.length > 0;
      $("phases-there").hidden = !groups.length;
      $("phases").replaceChildren(...groups.map(phaseItem));
      if (!$("phase-numbers").open) return;
      fill("by-phase", groups.flatMap(({ client, host, phases }) => phases.map(({ name, numbers }) => ({ cells: [client, host, name,
        [number(numbers[COUNT])], [seconds(numbers[SUM] / numbers[COUNT])], [seconds(quantile(.99, numbers, known.phaseBounds))]] }))), "");
    }

    """#
}
