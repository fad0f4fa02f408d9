// What can be saved: tables as CSV, charts as SVG and PNG.

const save = (name, kind, content) => {
  const address = URL.createObjectURL(new Blob([content], { type: kind }));
  element("a", "", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
};

// Rows of numbers and texts. Values of single queries have 24 bits, which are seven digits.
const csv = (rows) => {
  const cell = (value) => {
    if (Array.isArray(value)) return cell(value.map((pair) => pair.join(": ")).join("; "));
    const number = typeof value === "number" && !Number.isInteger(value);
    const text = value == null || Number.isNaN(value) ? "" : String(number ? Number(value.toPrecision(7)) : value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
};

const saveButtons = (what, acts) =>
  element("p", acts.map(([format, act]) => {
    const title = `Save ${what} as ${format}`;
    return filled(button(format, title, act), [], { "aria-label": title });
  }), { class: "save" });

// The table of a part, with all its numbers.
const savesCsv = (id, name = id) => ["CSV", () => save(`${name}.csv`, "text/csv", csv(savedRows.get(id)))];
const savesTable = (id, name) => $(`#${id} .scroll`).after(saveButtons("the table", [savesCsv(id, name)]));

const savesChart = (holder, name, ...others) => {
  const view = () => embedded.get(holder)?.view;
  const svg = async () => view() && save(`${name}.svg`, "image/svg+xml", await view().toSVG());
  const png = async () => view() && (await view().toCanvas(2)).toBlob((content) => save(`${name}.png`, "image/png", content));
  holder.after(saveButtons("the chart", [["SVG", svg], ["PNG", png], ...others]));
};
