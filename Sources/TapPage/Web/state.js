// What the reader has chosen. It stands in the address, so that it survives a reload and can be sent to a colleague.
"use strict";

const CHOICES = ["side", "client", "host", "path", "minutes", "only", "slower", "text", "request", "trace"];
const chosen = {};
// Tells the sums of one choice of parties from those of another.
let choiceKey = "";

function take(changes) {
  Object.assign(chosen, changes);
  choiceKey = JSON.stringify([chosen.side, chosen.client, chosen.host, chosen.path]);
}

function readAddress() {
  const there = new URLSearchParams(location.hash.slice(1));
  take(Object.fromEntries(CHOICES.map(name => [name, there.get(name) || ""])));
}

// The browser's Back takes back what a click has opened or filtered, but not each letter of a text.
function choose(changes, isStep = true) {
  take(changes);
  const there = new URLSearchParams(CHOICES.filter(name => chosen[name]).map(name => [name, chosen[name]]));
  const address = location.pathname + location.search + (there.size ? `#${there}` : "");
  history[isStep ? "pushState" : "replaceState"](null, "", address);
  show();
}

const FILTERS = ["side", "client", "host", "path"];
const isChosen = party => FILTERS.every(name => !chosen[name] || party[name] === chosen[name]);

// Of gauges and connections no path is known: those of the client and the host.
const isChosenServer = party => isChosen({ ...party, path: chosen.path });

function shownSteps() {
  const start = chosen.minutes ? known.time - 60000 * chosen.minutes : -Infinity;
  return known.steps.filter(step => step.to > start);
}

readAddress();
