/// The part of the page's script that reads what the process has kept of the last minutes: the steps before the first scrape, and
/// those of a time in which the page did not scrape, since it was paused or its tab was hidden. It touches no document.
enum PageBackfill {
  static let script = #"""
    const HISTORY = "page/history";

    // Puts the history in place of the steps of its time. Called right after a scrape.
    function backfill(history) {
      const now = known.time, start = now - history.covered_s * 1000, width = history.slot_s * 1000;
      const steps = [];
      for (const slot of history.slots) {
        const from = Math.max(start, now - slot.age_s * 1000);
        const step = makeStep(from, Math.min(now, now - slot.age_s * 1000 + width));
        for (const totals of slot.totals) takeTotals(step, history, totals);
        steps.push(step);
      }
      // Slots in which nothing happened are not in the history.
      const filled = [];
      let end = start;
      for (const step of [...steps, makeStep(now, now)]) {
        while (step.from - end > 1) {
          const next = Math.min(step.from, end + width);
          filled.push(makeStep(end, next));
          end = next;
        }
        if (step.to > step.from) filled.push(step);
        end = step.to;
      }
      joinLast(filled);
      known.steps = [...known.steps.filter(step => step.to <= start), ...filled].filter(step => step.to > now - WINDOW);
    }

    // A last step of less than two seconds would say little of a rate: it goes into the one before.
    function joinLast(steps) {
      const [before, last] = steps.slice(-2);
      if (!last || last.to - last.from >= 2000) return;
      for (const name of SIDES) {
        for (const party of last[name].values()) add(sumFor(party, before[name], party.numbers.length - BUCKETS), party.numbers);
      }
      before.to = last.to;
      steps.pop();
    }

    function takeTotals(step, history, [place, sum, errors, ...counts]) {
      const labels = history.parties[place], name = labels.direction === "inbound" ? "served" : "made";
      const side = known[name], bounds = [...history.bounds[labels.direction], Infinity];
      if (!side.bounds.length) side.bounds = bounds;
      const numbers = sumFor(side.partyOf(labels), step[name], side.bounds.length);
      numbers[SUM] += sum;
      numbers[ERRORS] += errors;
      counts.forEach((count, i) => {
        if (!count) return;
        numbers[COUNT] += count;
        // One bucket of the history is one of the metrics, or several where there are many: they share its requests.
        const inside = side.bounds.map((bound, j) => j)
          .filter(j => side.bounds[j] <= bounds[i] && (i === 0 || side.bounds[j] > bounds[i - 1]));
        for (const j of inside) numbers[BUCKETS + j] += count / inside.length;
      });
    }

    """#
}
