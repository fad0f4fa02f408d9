// Everything: what is chosen is shown in all parts.

const show = () => {
  const { query } = state;
  findMattering();
  const place = query === null ? "" : queries[query];
  if ($("#query") !== document.activeElement || query !== null) $("#query").value = place;
  $("#status").textContent = query === null ? `Means over ${nQueries(page.total)} are shown.` : `Query ${place} is shown.`;
  allowClear();
  const [a, b] = comparable ? sides() : [];
  for (const [id, value] of Object.entries({ measure: state.measure, ...(comparable ? { against: against(), a, b } : {}) })) $(`#${id}`).value = value;
  for (const kind of ["rank", "recall"]) $(`#${kind} select`).value = state[kind];
  for (const end of ["least", "greatest"]) $(`#${end}`).value = state[end] ?? "";
  showVerdict();
  showStrategies();
  showCertainty();
  showSegments();
  if (comparable) showComparison();
  showCurves("rank", "Curves by rank");
  showCurves("recall", "Precision by recall");
  showLegend();
  if (comparable) showHistogram();
  if (comparable) showExplore();
  showDocuments();
  // What is chosen is said on paper, where nothing can be chosen.
  for (const select of document.querySelectorAll("select")) select.nextElementSibling.textContent = select.selectedOptions[0]?.textContent ?? "";
  if (!embedded.size) drawing.then(() => $("main").setAttribute("aria-busy", "false"));
};
// All queries can be asked for where one is chosen, or something that is none was typed.
const allowClear = () => {
  $("#clear").disabled = state.query === null && $("#query").value === "";
};

const change = (changes) => {
  Object.assign(state, changes);
  const { chosen } = state;
  // The two that are set against each other are chosen; where one no longer is, another comes.
  for (const [side, other] of [["a", "b"], ["b", "a"]]) {
    if (side in changes) {
      chosen.add(state[side]);
      if (state[other] === state[side]) state[other] = null;
    } else if ("chosen" in changes && chosen.size > 1 && !chosen.has(state[side])) {
      state[side] = null;
    }
  }
  remember();
  show();
};

// What stays as it is.
$("#about").textContent = page.about;
$("#comparison .note").textContent = comparison.note ?? "";
$("#believed").textContent = `${page.corrected} ≤ ${page.alpha}`;
$("#held").textContent = comparison.held ?? "";
definitions($("#settings"), page.settings);
explain();
showOverview();
if (part("graders", page.graders)) {
  const holder = $("#graders .chart");
  draw(holder, { key: "graders", rows: [], ...page.graders });
  savesChart(holder, "graders");
}
for (const id of ["comparison", "histogram", "explore"]) absent(id, page.absent.comparison);
for (const kind of ["rank", "recall"]) {
  const mine = curvesOf(kind);
  absent(kind, mine.length ? null : page.absent[kind]);
  options($(`#${kind} select`), mine.map(({ name }, i) => [i, name]), (i) => change({ [kind]: i }));
  $(`#${kind} .controls`).hidden = mine.length < 2;
}

const strategyNames = strategies.map((name, s) => [s, name]);
const { baseline } = comparison;
$("#measured").hidden = !measures.length;
options($("#measure"), measures.map(({ name }, m) => [m, name]), (measure) => change({ measure }));
options($("#against"), baseline === null ? [[-1, "every pair"], ...strategyNames] : [strategyNames[baseline]], (to) => change({ against: to }));
options($("#a"), strategyNames, (a) => change({ a }));
options($("#b"), strategyNames, (b) => change({ b }));

for (const id of ["overview", "strategies", "certainty", "segments", "documents"]) savesTable(id);
savesTable("comparison", "differences");
savesChart($("#forest"), "differences");
for (const kind of ["rank", "recall"]) savesChart($(`#${kind} .chart`), `curves-by-${kind}`);
savesChart($("#histogram .chart"), "query-by-query", savesCsv("histogram", "query-by-query"));
savesChart($("#explore .chart"), "some-queries");
for (const end of ["least", "greatest"]) {
  $(`#${end}`).addEventListener("input", ({ target }) => {
    state[end] = numberIn(target.value);
    remember();
    if (comparable) showExplore();
  });
}

// What its reader does.
$("#queries").append(...queries.map((name) => element("option", "", { value: name })));
$("#all").addEventListener("click", () => change({ chosen: new Set(strategies.keys()) }));
$("#none").addEventListener("click", () => change({ chosen: new Set() }));
$("#clear").addEventListener("click", () => {
  $("#query").value = "";
  change({ query: null });
});
const find = () => {
  const text = $("#query").value;
  const query = text === "" ? null : queries.indexOf(text);
  if (query === -1) $("#status").textContent = `There is no query ${text}.`;
  else if (query !== state.query) change({ query });
  allowClear();
};
$("#query").addEventListener("change", find);
// Choosing from the list is an input, and no change until the field is left.
$("#query").addEventListener("input", (event) => {
  if (!(event instanceof InputEvent) || event.inputType === "insertReplacementText") find();
  allowClear();
});
$("#bar").addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
for (const [id, step] of [["previous", -1], ["next", 1]]) {
  $(`#${id}`).addEventListener("click", () => {
    const order = differences().map((row) => row.query);
    const place = state.query === null ? (step > 0 ? -1 : order.length) : order.indexOf(state.query);
    change({ query: order[(place + step + order.length) % order.length] ?? null });
  });
}
window.addEventListener("hashchange", () => {
  Object.assign(state, fromAddress(location.hash.slice(1)));
  show();
});
Object.assign(state, fromAddress(location.hash.slice(1)));
show();
