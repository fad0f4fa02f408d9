// Charts are drawn by the one script that the book has, and found again in the gallery.

"use strict";

// A search puts pages first that have its words side by side, and shows where they stand. A page
// that is a file cannot read other pages: what they say comes with the search.
function searchWords() {
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  const phrase = asked.trim().toLowerCase();
  const found = (page) => (TEXTS[page] ?? "").toLowerCase().indexOf(phrase);
  Scorer.score = ([page, , , , score]) => score + (found(`${page}.html`) < 0 ? 0 : 20);
  window.fetch = async (address) => {
    const page = decodeURI(String(address)).replace(/^\.\//, "").replace(/[#?].*$/, "");
    const words = (TEXTS[page] ?? "").slice(Math.max(found(page) - 80, 0));
    return new Response(`<div role="main">${words}</div>`);
  };
  // A letter is not marked in other words.
  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    const parsed = parse(query);
    parsed[3].forEach((term) => term.length > 1 || parsed[3].delete(term));
    return parsed;
  };
}

async function draw(holder) {
  const spec = JSON.parse(holder.querySelector("script").textContent);
  const { view } = await vegaEmbed(holder, spec, { actions: false, renderer: "svg" });
  return view;
}

async function drawAll() {
  const gallery = document.querySelector(".thumbnails");
  for (const holder of document.querySelectorAll(".chart")) {
    const view = await draw(holder);
    if (gallery) {
      await thumbnail(gallery, holder.closest("section"), view);
    }
  }
  document.documentElement.dataset.charts = "drawn";
}

async function thumbnail(gallery, section, view) {
  const link = document.createElement("a");
  link.href = `#${section.id}`;
  const picture = document.createElement("img");
  picture.src = await view.toImageURL("svg");
  picture.alt = "";
  link.append(picture, section.querySelector("h2, h3").firstChild.textContent);
  gallery.append(link);
}

// The code of a cell, not what it printed, goes to the clipboard.
function offerCopies() {
  for (const code of document.querySelectorAll(".cell_input .highlight, .highlight-python .highlight, .highlight-text .highlight")) {
    if (code.querySelector(".copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    code.append(button);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  if (typeof TEXTS !== "undefined") searchWords();
  offerCopies();
  drawAll();
});
