/// The part of the page's script that shows where the time goes. The colours of the phases are told apart by those who see
/// no red, no green or no blue: simulated (Machado, 2009), any two are at least 0.18 apart in OKLab, light and dark.
enum PagePhases {
  static let script = #"""
    const PHASES = ["queue", "resolve", "connect", "tls", "upload", "processing", "transfer", "local"];

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
      for (const { party, labels, numbers } of known.made.series.values()) {
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

    // A bar, and the same in words for those who do not see it.
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
      $("phases-part").hidden = ![...known.made.series.values()].some(one => choice.has(one.party));
      $("phases-none").hidden = isKnown;
      $("phases-there").hidden = !isKnown;
      $("phases").replaceChildren(...groups.map(phaseItem));
      if (!$("phase-numbers").open) return;
      fill("by-phase", groups.flatMap(({ client, host, phases }) => PHASES.filter(name => phases.has(name)).map(name => {
        const numbers = phases.get(name);
        return { cells: [client, host, name, [number(numbers[COUNT])], [seconds(numbers[SUM] / numbers[COUNT])],
          [quantileText(.99, numbers, known.phaseBounds)]] };
      })), "");
    }

    """#
}
