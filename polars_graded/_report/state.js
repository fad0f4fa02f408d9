// The unpacked data of the page, and the choice by its reader or by the address.

const page = JSON.parse(document.getElementById("payload").textContent);
const { strategies, queries, measures, curves, comparison, looks, specs } = page;
const { baseline } = comparison;
const $ = (selector, within = document) => within.querySelector(selector);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const floats = (text) => new Float32Array(bytes(text));

// Unpacks one value per measure, strategy and query, and one code per strategy, query and point of a
// curve. There are `steps` codes between the query's lowest and highest value. Without a query, the
// result is the mean.
const values = measures.map((measure) => floats(measure.values));
const unpacked = ({ codes, low, high, n_lines, means }, inspected) => {
  const [all, lows, highs] = [new Uint16Array(bytes(codes)), floats(low), floats(high)];
  const points = all.length / (n_lines * lows.length);
  return (s, query, point) => {
    const line = s % n_lines;
    if (query === null) return means[line][point];
    const place = inspected ? inspected.indexOf(query) : query;
    const code = all[(line * lows.length + place) * points + point];
    if (place < 0 || code > page.steps) return null;
    return lows[place] + (highs[place] - lows[place]) * (code / page.steps);
  };
};
for (const curve of curves) {
  curve.value = unpacked(curve.packed, curve.inspected);
  curve.idealValue = curve.ideal && unpacked(curve.ideal, curve.inspected);
}
const curvesOf = (kind) => curves.filter((curve) => curve.kind === kind);
const valueOf = (measure, strategy, query) => values[measure][strategy * queries.length + query];
const sign = (measure) => (measures[measure].best === "lowest" ? -1 : 1);

// Formats numbers.
const minus = (text) => text.replaceAll("-", "\u2212");
const digits = (number) => minus(number.toFixed(Math.abs(number) < 1000 ? 4 : 1));
const written = (number) => (Number.isFinite(number) ? digits(number) : "–");
const signed = (number) => (number > 0 ? "+" : "") + written(number);
const amount = (n) => n?.toLocaleString("en");
const counted = (n, what, several) => `${amount(n)} ${n === 1 ? what : several}`;
const nQueries = (n) => counted(n, "query", "queries");
const firstFew = (texts) =>
  texts.slice(0, 5).join(", ") + (texts.length > 5 ? `, and ${texts.length - 5} more` : "");

// The choice of the reader. The page chooses if an entry is null.
const comparable = measures.length > 0 && strategies.length > 1;
const EVERY = strategies.length; // in place of the baseline: compare every pair
const atFirst = () => ({
  measure: 0,
  query: null,
  chosen: new Set(strategies.keys()),
  against: null,
  a: null, // the two compared strategies
  b: null,
  rank: 0, // the curves that are drawn
  recall: 0,
});
const state = atFirst();

// Strategies by the mean of the measure, the best first, with the chosen ones before the others.
const ranked = () => measures[state.measure]?.order ?? [...strategies.keys()];
const preferred = () => [...ranked()].sort((s, t) => state.chosen.has(t) - state.chosen.has(s));
const against = () =>
  baseline ?? state.against ?? (EVERY > page.mostPairs ? ranked()[0] : EVERY);

// Returns the two compared strategies: those that were requested, otherwise the baseline as the
// second, otherwise the best two. A strategy that is no longer chosen is replaced by another.
const sides = () => {
  const { chosen } = state;
  const kept = (s) => (chosen.size < 2 || chosen.has(s) ? s : null);
  const asked = kept(state.a);
  const second = kept(state.b) ?? (asked === baseline ? null : kept(baseline));
  const first = asked ?? preferred().find((s) => s !== second);
  const both = [first, second ?? preferred().find((s) => s !== first)];
  return both.filter((s) => s !== undefined); // there may be only one
};

// Values derived from the choice, computed once for all parts.
let seen;
const look = (s) => (seen.mattering.includes(s) ? looks[s] : page.rest);
const see = () => {
  const both = sides();
  seen = {
    both,
    names: both.map((s) => strategies[s]),
    measure: measures[state.measure],
    query: queries[state.query],
    drawn: [...strategies.keys()].filter((s) => state.chosen.has(s)),
    // If there are more strategies than colours, these have a colour and the others are grey.
    mattering: [...new Set([...both, ...preferred()])].slice(0, page.mostColours),
  };
  // With many strategies, two can have the same colour.
  const [first, second] = both.map((s) => look(s).colour);
  const other = looks.find(({ colour }) => colour !== first)?.colour;
  seen.colours = [first, first === second ? other : second];
  seen.rows = differences();
};

// The address contains entries that differ from the default, by name, so that it stays valid for a
// new version of the page.
const nameOf = ({ name }) => name;
const NAMES = {
  measure: measures.map(nameOf),
  query: queries,
  against: baseline === null ? [...strategies, "every pair"] : [strategies[baseline]],
  a: strategies,
  b: strategies,
  rank: curvesOf("rank").map(nameOf),
  recall: curvesOf("recall").map(nameOf),
};
const ENDS = ["least", "greatest"]; // of the range of differences of queries, as typed
const inAddress = () => {
  const parameters = new URLSearchParams();
  const first = atFirst();
  for (const [key, names] of Object.entries(NAMES)) {
    if (state[key] !== first[key]) parameters.set(key, names[state[key]]);
  }
  for (const end of ENDS) if ($(`#${end}`).value) parameters.set(end, $(`#${end}`).value);
  const left = strategies.filter((_, s) => !state.chosen.has(s));
  for (const name of left) parameters.append("without", name);
  return parameters.toString();
};
// Entries of an address that this page does not have are ignored.
const fromAddress = (address) => {
  const parameters = new URLSearchParams(address);
  const choice = atFirst();
  for (const [key, names] of Object.entries(NAMES)) {
    if (names.includes(parameters.get(key))) choice[key] = names.indexOf(parameters.get(key));
  }
  if (choice.a === choice.b) choice.b = null;
  for (const name of parameters.getAll("without")) choice.chosen.delete(strategies.indexOf(name));
  return choice;
};
const remember = () => {
  try {
    history.replaceState(null, "", `#${inAddress()}`);
  } catch {
    // A page inside another, as in a notebook, does not have its own address.
  }
};
