// The choices of the reader. They are in the address, so they survive a reload and can be sent to a
// colleague.
const CHOICES = ["side", "client", "host", "path", "minutes", "only", "slower", "text", "request", "trace"];
const FILTERS = CHOICES.slice(0, 4);
const chosen = {};
// Identifies the choice of parties, for sums that are kept.
let choiceKey = "";

function take(changes) {
  Object.assign(chosen, changes);
  choiceKey = JSON.stringify(FILTERS.map(name => chosen[name]));
}

function readAddress() {
  const there = new URLSearchParams(location.hash.slice(1));
  take(Object.fromEntries(CHOICES.map(name => [name, there.get(name) || ""])));
}

// The browser's Back undoes what a click opened or filtered, but not each letter of a text.
function choose(changes, isStep = true) {
  take(changes);
  const there = new URLSearchParams(CHOICES.filter(name => chosen[name]).map(name => [name, chosen[name]]));
  history[isStep ? "pushState" : "replaceState"](null, "", `#${there}`);
  show();
  if ("minutes" in changes) readWhy().then(redraw);
}

const isChosen = party => FILTERS.every(name => !chosen[name] || party[name] === chosen[name]);

// Gauges and connections have no path: client and host decide.
const isChosenServer = party => isChosen({ ...party, path: chosen.path });

readAddress();
