// What is wrong, as the process concludes it: sentences, each with the requests that it is about.
const why = { findings: [], sentence: "", isWell: true };

async function readWhy() {
  try {
    const { findings, sentence, is_well: isWell } =
      await get(`why?seconds=${60 * chosen.minutes || 30}`, "application/json").then(answer => answer.json());
    Object.assign(why, { findings: findings.map(rowOfFinding), sentence, isWell });
  } catch (error) {
    Object.assign(why, { findings: [], sentence: `What is wrong is unknown: ${error.message}.`, isWell: true });
  }
}

function rowOfFinding({ sentence, kind, is_wrong: isWrong, direction: side = "", client = "", server = "", method = "", route = "",
  since = "", last = "", figures }) {
  return { key: JSON.stringify([kind, side, client, server, method, route]), sentence, kind, isWrong, side, client, host: server, method,
    path: route, since: since.slice(11, 19), last: last.slice(11, 19), figures,
    severity: !isWrong ? "" : /^(slow|calls)$/.test(kind) ? "WARN" : "ERROR" };
}

// What is of no request is of any.
const isFindingChosen = one => !one.side || isChosen(one);

// How the mean time of answered served requests is divided.
const hasShares = ({ side, figures }) => side === "served" && figures.own_s >= 0 && figures.upstream_s > 0;
function now() {
  const shown = why.findings.filter(isFindingChosen), wrong = shown.filter(one => one.isWrong), notes = shown.filter(one => !one.isWrong);
  fill("wrong", wrong);
  fill("notes", notes);
  setText($("wrong-title"), wrong.length ? `${plural(wrong.length, "thing")} wrong now` : why.isWell ? why.sentence
    : "Nothing of what is wrong now is about this choice.");
  $("wrong-part").className = wrong.some(one => one.severity === "ERROR") ? "" : wrong.length ? "slow" : "quiet";
  $("notes-part").hidden = !notes.length;
  setText($("notes-words"), `${plural(notes.length, "note")} on what is over, as before, or little`);
}
