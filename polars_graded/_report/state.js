// What the page has, unpacked, and what of it is chosen: by its reader, or by the address.

const page = JSON.parse(document.getElementById("payload").textContent);
const { strategies, queries, measures, curves, comparison, looks, specs } = page;
const rankings = page.rankings ?? null;
const $ = (selector, within = document) => within.querySelector(selector);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

// What is packed: one value per measure, strategy and query; one code per strategy, query and point of a
// curve, of which `steps` lie between the query's lowest and highest value.
const values = measures.map((measure) => new Float32Array(bytes(measure.values)));
const unpacked = ({ codes, low, high, lines }, there) => {
  const places = there && new Map(there.map((query, place) => [query, place]));
  const [all, lows, highs] = [new Uint16Array(bytes(codes)), ...[low, high].map((ends) => new Float32Array(bytes(ends)))];
  const points = all.length / (lines * lows.length);
  return (line, query, point) => {
    const place = places ? places.get(query) : query;
    if (place === undefined) return null;
    const code = all[((line % lines) * lows.length + place) * points + point];
    return code > page.steps ? null : lows[place] + (highs[place] - lows[place]) * (code / page.steps);
  };
};
for (const curve of curves) {
  curve.value = unpacked(curve.packed, curve.there);
  curve.idealValue = curve.ideal && unpacked(curve.ideal, curve.there);
}
const curvesOf = (kind) => curves.filter((curve) => curve.kind === kind);
const valueOf = (measure, strategy, query) => values[measure][strategy * queries.length + query];
// A query counts in a measure where all strategies have a value, as it does in the comparison.
const whole = values.map((all) => {
  const found = queries.map(() => true);
  all.forEach((value, i) => (found[i % queries.length] &&= !Number.isNaN(value)));
  return found;
});
const sign = (measure) => (measures[measure].best === "lowest" ? -1 : 1);

// Strategies by the mean of a measure, the best first.
const ranked = (measure) => {
  const all = [...strategies.keys()];
  if (!measures.length) return all;
  const key = (s) => (measures[measure].means[s] ?? -Infinity * sign(measure)) * sign(measure);
  return all.sort((s, t) => key(t) - key(s) || s - t);
};

// Numbers in words.
const written = (number) =>
  number == null || Number.isNaN(number) ? "–" : number.toFixed(Math.abs(number) < 1000 ? 4 : 1).replace(/^-/, "\u2212");
const signed = (number) => (number > 0 ? "+" : "") + written(number);
const amount = (n) => n?.toLocaleString("en");
const counted = (n, what, several) => `${amount(n)} ${n === 1 ? what : several}`;
const firstFew = (texts, where = "") => texts.slice(0, 5).join(", ") + (texts.length > 5 ? `, and ${texts.length - 5} more${where}` : "");
const nQueries = (n) => counted(n, "query", "queries");

// What is chosen. Where it is null, the page chooses.
const comparable = measures.length > 0 && strategies.length > 1;
const atFirst = () => ({
  measure: 0,
  query: null,
  chosen: new Set(strategies.keys()),
  against: null, // the strategy that others are compared with, -1 for every pair
  a: null, // the two that are set against each other
  b: null,
  rank: 0, // the curves that are drawn
  recall: 0,
  least: null, // the differences of the queries that are chosen
  greatest: null,
});
const state = atFirst();

const against = () => {
  if (comparison.baseline !== null) return comparison.baseline;
  return state.against ?? (strategies.length > page.mostPairs ? ranked(state.measure)[0] : -1);
};

// The two that are set against each other, by their places: sentences say their names.
const ROLES = ["first", "second"];
// Those that were asked for, else the baseline as B, else the best of those that are chosen.
const sides = () => {
  const best = ranked(state.measure);
  const order = [...best.filter((s) => state.chosen.has(s)), ...best.filter((s) => !state.chosen.has(s))];
  const baseline = comparison.baseline !== null && state.chosen.has(comparison.baseline) ? comparison.baseline : null;
  let { a, b } = state;
  if (b === null && a !== baseline) b = baseline;
  a ??= order.find((s) => s !== b);
  b ??= order.find((s) => s !== a);
  return [a, b];
};

// Of more strategies than there are colours, the two that are set against each other and the best of
// those that are chosen have theirs; the others are grey.
let mattering = new Set();
const findMattering = () => {
  const all = [...(comparable ? sides() : []), ...ranked(state.measure).filter((s) => state.chosen.has(s))];
  mattering = new Set(strategies.length <= page.mostColours ? strategies.keys() : [...new Set(all)].slice(0, page.mostColours));
};
const look = (s) => (mattering.has(s) ? looks[s] : page.rest);

// The address has what is not as it was at first, by name, so that it holds for a page made anew too.
const PLACES = {
  measure: measures.map(({ name }) => name),
  query: queries,
  ...(comparable ? { against: strategies, a: strategies, b: strategies } : {}),
  ...Object.fromEntries(["rank", "recall"].map((kind) => [kind, curvesOf(kind).map(({ name }) => name)])),
};
const inAddress = () => {
  const said = new URLSearchParams();
  const first = atFirst();
  for (const [key, names] of Object.entries(PLACES)) if (state[key] !== first[key]) said.set(key, names[state[key]] ?? "");
  for (const end of ["least", "greatest"]) if (state[end] !== null) said.set(end, state[end]);
  for (const [s, name] of strategies.entries()) if (!state.chosen.has(s)) said.append("without", name);
  return said.toString();
};

// A number as it was typed, null where there is none.
const numberIn = (text) => (text?.trim() && Number.isFinite(Number(text)) ? Number(text) : null);

// What an address says that this page has not is passed over.
const fromAddress = (address) => {
  const said = new URLSearchParams(address);
  const found = atFirst();
  for (const [key, names] of Object.entries(PLACES)) if (names.includes(said.get(key))) found[key] = names.indexOf(said.get(key));
  if (comparable && said.get("against") === "" && found.against === null) found.against = -1;
  if (found.a !== null && found.a === found.b) found.b = null;
  for (const end of ["least", "greatest"]) found[end] = numberIn(said.get(end));
  for (const name of said.getAll("without")) found.chosen.delete(strategies.indexOf(name));
  return found;
};
const remember = () => {
  const said = inAddress();
  if (said === location.hash.slice(1)) return;
  try {
    history.replaceState(null, "", said ? `#${said}` : location.pathname + location.search);
  } catch {
    // A page within another, as in a notebook, has no address of its own.
  }
};
