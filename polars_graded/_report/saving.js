// What can be saved: tables as CSV and LaTeX, charts as SVG and PNG.

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

const SPELT = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "−": "$-$",
  "±": "$\\pm$",
  "–": "--",
  "<": "$<$",
  ">": "$>$",
};
const plainTex = (text) => text.replace(/[\\{}$&#_%~^−±–<>]/g, (letter) => SPELT[letter] ?? `\\${letter}`).replace(/\s+/g, " ");

// The rows of a table as it stands, the best in bold.
const latex = (table) => {
  const cells = (row) => [...row.cells].flatMap((cell) => {
    const text = plainTex((cell.dataset.text ?? cell.textContent).trim());
    const written = cell.classList.contains("best") ? `\\textbf{${text}}` : text;
    return cell.colSpan > 1 ? `\\multicolumn{${cell.colSpan}}{c}{${written}}` : written;
  });
  const [head, body] = [table.tHead, table.tBodies[0]].map((part) => [...part.rows]);
  const n = Math.max(...body.map((row) => row.cells.length));
  // A head of two rows begins with a cell that reaches into the second.
  const line = (row, i) => `${[...(i ? [""] : []), ...cells(row)].join(" & ")} \\\\`;
  const lines = body.map((row) => `${cells(row).join(" & ")} \\\\`);
  return [`\\begin{tabular}{l${"r".repeat(n - 1)}}`, "\\toprule", ...head.map(line), "\\midrule", ...lines, "\\bottomrule", "\\end{tabular}", ""].join("\n");
};

const saveButtons = (what, acts) =>
  element("p", acts.map(([format, act]) => {
    const title = `Save ${what} as ${format}`;
    return filled(button(format, title, act), [], { "aria-label": title });
  }), { class: "save" });

// The table of a part: its numbers as CSV, and what is read as LaTeX.
const savesCsv = (id, name) => ["CSV", () => save(`${name}.csv`, "text/csv", csv(savedRows.get(id)))];
const savesTable = (id, name = id) => {
  const written = () => save(`${name}.tex`, "application/x-tex", latex($(`#${id} table`)));
  $(`#${id} .scroll`).after(saveButtons("the table", [savesCsv(id, name), ["LaTeX", written]]));
};

const savesChart = (holder, name, ...others) => {
  const view = () => embedded.get(holder)?.view;
  const svg = async () => view() && save(`${name}.svg`, "image/svg+xml", await view().toSVG());
  const png = async () => view() && (await view().toCanvas(2)).toBlob((content) => save(`${name}.png`, "image/png", content));
  holder.after(saveButtons("the chart", [["SVG", svg], ["PNG", png], ...others]));
};
