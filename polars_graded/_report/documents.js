// The first documents of both strategies in the query that is chosen, where the page has them.

const showDocuments = () => {
  const within = part("documents", rankings);
  if (!within) return;
  const { query } = state;
  const both = (comparable ? sides() : [0]).filter((s) => s !== undefined);
  const two = both.length > 1;
  const names = both.map((s) => strategies[s]);
  $("h2", within).textContent = `Documents: ${names.join(" and ")}${query === null ? "" : ` in query ${queries[query]}`}`;
  const place = query === null ? -1 : rankings.there.indexOf(query);
  const few = rankings.there.length < queries.length ? ` The page has those of ${nQueries(rankings.there.length)}, at equal steps in their order.` : "";
  $(".note", within).textContent =
    query === null
      ? `Choose a query to see the first ${rankings.ranks} documents that each strategy has for it.${few}`
      : place < 0
        ? `The page does not have the documents of this query.${few}`
        : `The first ${rankings.ranks} documents${two ? " of each" : ""} and their grades, – where one was not judged` +
          (two ? "; beside each its rank with the other strategy, – where that has it further down or not at all." : ".") +
          (strategies.length > 1 ? " Below the line of the picture are relevant documents that another strategy has among these." : "");
  for (const part of within.querySelectorAll(".scroll, .save, figure")) part.hidden = place < 0;
  if (place < 0) $(".wide", within).hidden = true;
  if (place < 0) return;
  const entry = rankings.entries[place];
  const documents = entry.documents.map(([name, ...rest]) => ({ name, grade: rest.at(-1), title: rest.length > 1 ? rest[0] : undefined }));
  const shown = both.map((s) => entry.ranked[s] ?? []);
  const most = Math.max(0, ...documents.map(({ grade }) => grade));
  const columns = both.flatMap((s, i) => {
    const at = (rank) => shown[i][rank];
    const there = (rank) => documents[at(rank)];
    const group = { title: [called(s)], head: { class: "text" } };
    const call = ({ name, title }) => [element("span", name, { class: "document" }), ...(title === undefined ? [] : [element("small", title, { class: "title" })])];
    // The higher the grade, the more of its field is filled.
    const filled = ({ grade }) => (grade > 0 && most > 0 ? { style: `--share: ${Math.round((100 * grade) / most)}%` } : {});
    const column = (title, form, cell, head) => ({
      group,
      title,
      head,
      value: there,
      form: (document, rank) => (document ? form(document, rank) : ""),
      cell: (rank) => (there(rank) ? cell(there(rank)) : {}),
    });
    const inOther = (_, rank) => {
      const other = shown[1 - i].indexOf(at(rank));
      return other < 0 ? "–" : String(other + 1);
    };
    return [
      column("document", call, () => ({ class: "text" }), { class: "text" }),
      column("grade", ({ grade }) => (grade === null ? "–" : String(grade)), (document) => ({ class: "grade", ...filled(document) })),
      ...(two ? [column(`rank with ${names[1 - i]}`, inOther, () => ({}))] : []),
    ];
  });
  const ranks = [...Array(Math.max(1, ...shown.map((list) => list.length))).keys()];
  table("documents", "Documents side by side", [{ title: "Rank", value: (rank) => rank + 1 }, ...columns], ranks);
  const rows = both.flatMap((s, i) => shown[i].map((at, rank) => ({ strategy: strategies[s], rank: rank + 1, document: documents[at].name, ...documents[at] })));
  const saved = ["strategy", "rank", "document", ...(documents[0]?.title === undefined ? [] : ["title"]), "grade"];
  keepRows("documents", saved.map((name) => ({ name, value: (row) => row[name] })), rows);
  showTiles(documents, shown, both, entry.ideal);
};

// The same as tiles in the colours of their grades, joined by lines: a picture of the table below it.
const gains = new Map(rankings?.gains);
// A grade that is relevant gains something; those whose gain is no number have none here.
const isRelevant = ({ grade }) => grade !== null && (gains.get(grade) ?? 1) > 0;
const showTiles = (documents, shown, both, ideals) => {
  const { ranks, levels, below, discounts } = rankings;
  const tiles = [];
  const heads = both.map((s, column) => {
    const [list, ideal] = [shown[column], ideals[s % ideals.length]];
    const added = list.map((at, i) => (ideal ? ((gains.get(documents[at].grade) ?? 0) * discounts[i]) / ideal : 0));
    const value = added.reduce((sum, each) => sum + each, 0);
    const missed = documents.filter((document, at) => isRelevant(document) && !list.includes(at)).sort((x, y) => y.grade - x.grade);
    const tile = ({ name, grade, title }, y, more) => {
      const level = grade === null ? "unjudged" : levels.find(([end]) => grade <= end)[1];
      tiles.push({ part: "document", strategy: strategies[s], column, y, doc: name, name: title ?? name, title, grade, level, relevant: isRelevant({ grade }), ...more });
    };
    list.forEach((at, i) => tile(documents[at], i + 1, { rank: i + 1, adds: added[i], share: value > 0 ? added[i] / value : null }));
    missed.slice(0, below).forEach((document, i) => tile(document, ranks + 2 + i, { rank: null, adds: null, share: null, label: "below" }));
    return { part: "strategy", strategy: strategies[s], column, value, label: `ndcg@${ranks} ${value.toFixed(4)}`, below: missed.length, colour: look(s).colour };
  });
  const lines = tiles.filter(({ column }) => column === 0).flatMap((tile) => {
    const same = tiles.find((other) => other.column === 1 && other.doc === tile.doc);
    return same ? [{ ...tile, part: "line", y_next: same.y }] : [];
  });
  const most = Math.max(1e-9, ...tiles.map((tile) => tile.adds ?? 0));
  const form = heads.some((head) => head.below) ? "below" : "top";
  const ends = heads.map((head, i) => `${head.strategy} has ${head.label}`);
  const said = `${ends.join("; ")}. Each document is a tile in the colour of its grade, and a line joins it to itself; the table below has them all.`;
  draw($("#documents .chart"), { key: form, spec: specs.tiles[form], rows: [...heads, ...tiles, ...lines], said, signals: { most } });
};
