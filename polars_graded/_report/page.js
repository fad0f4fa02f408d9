// Shows the choice of the reader in all parts of the page.

const selects = document.querySelectorAll("select");
const show = () => {
  see();
  const { query } = state;
  $("#query").value = seen.query ?? "";
  $("#clear").disabled = query === null;
  const means = `Means over ${nQueries(page.total)} are shown.`;
  $("#status").textContent = query === null ? means : `Query ${seen.query} is shown.`;
  const shown = { ...state, against: against(), a: seen.both[0], b: seen.both[1] };
  for (const select of selects) {
    select.selectedIndex = select.length > 1 ? shown[select.name] : 0;
    // The choice is stated on paper, and if there is nothing else to choose.
    select.nextElementSibling.textContent = select.value;
  }
  if (measures.length) showVerdict();
  showStrategies();
  if (page.certainty.length) showCertainty();
  if (page.similarity) showSimilarity();
  if (page.segments) showSegments();
  if (comparable) showComparison();
  showCurves("rank");
  showCurves("recall");
  showLegend();
  if (comparable) showHistogram();
  if (comparable) showExplore();
  if (page.rankings) showDocuments();
};

const change = (changes) => {
  Object.assign(state, changes);
  // The two compared strategies are different, and both are among the chosen ones.
  for (const [side, other] of [["a", "b"], ["b", "a"]]) {
    if (!(side in changes)) continue;
    state.chosen.add(state[side]);
    if (state[other] === state[side]) state[other] = null;
  }
  remember();
  show();
};
const arrive = () => {
  const address = location.hash.slice(1);
  Object.assign(state, fromAddress(address));
  for (const end of ENDS) $(`#${end}`).value = new URLSearchParams(address).get(end);
  show();
};

// Sets the texts that never change.
if (page.overview) showOverview();
if (page.graders) {
  const { spec, description } = page.graders;
  draw($("#graders .chart"), { key: "graders", rows: [], spec, description });
}
$("#queries").append(...queries.map((value) => element("option", "", { value })));

// Responds to the reader.
const STRATEGY_LISTS = ["against", "a", "b"];
for (const select of selects) {
  // Long names of strategies are shortened to the words in which they differ.
  const short = STRATEGY_LISTS.includes(select.name) ? page.choices : [];
  const shown = (name) => short[strategies.indexOf(name)] ?? name;
  select.append(...NAMES[select.name].map((name) => element("option", shown(name), { title: name })));
  select.addEventListener("change", () => change({ [select.name]: select.selectedIndex }));
}
$("#strategies").addEventListener("change", () => {
  const boxes = document.querySelectorAll("#strategies input:checked");
  change({ chosen: new Set(Array.from(boxes, ({ value }) => Number(value))) });
});
$("#all").addEventListener("click", () => change({ chosen: new Set(strategies.keys()) }));
$("#none").addEventListener("click", () => change({ chosen: new Set() }));
$("#explore .controls").addEventListener("input", () => {
  remember();
  showExplore();
});
const find = () => {
  const text = $("#query").value;
  const query = text === "" ? null : queries.indexOf(text);
  if (query === -1) $("#status").textContent = `There is no query ${text}.`;
  else if (query !== state.query) change({ query });
};
$("#query").addEventListener("change", find);
$("#query").addEventListener("input", (event) => {
  $("#clear").disabled = $("#query").value === "";
  // Choosing from the list is an `input` event; `change` follows only when the field loses focus.
  if (!(event instanceof InputEvent) || event.inputType === "insertReplacementText") find();
});
$("#clear").addEventListener("click", () => change({ query: null }));
for (const [id, step] of [["previous", -1], ["next", 1]]) {
  $(`#${id}`).addEventListener("click", () => {
    const { rows } = seen;
    const place = rows.findIndex(({ at }) => at === state.query);
    const next = place < 0 ? Math.min(step, 0) : (place + step) % rows.length;
    change({ query: rows.at(next)?.at ?? null });
  });
}
window.addEventListener("hashchange", arrive);
arrive();
drawing.then(() => $("main").setAttribute("aria-busy", "false"));
