// As much of a document as the script of a report needs, for node: what it makes has children and a text.

const made = (tag) => {
  const found = new Map();
  const self = {
    tag, children: [], attributes: {}, dataset: {}, style: {}, hidden: false, value: "", rows: [], cells: [],
    clientWidth: 800, scrollWidth: 800, clientHeight: 400, scrollHeight: 400, selectedOptions: [],
    append: (...more) => self.children.push(...more),
    after: () => {},
    replaceChildren: (...others) => { self.children = others; },
    setAttribute: (name, value) => { self.attributes[name] = String(value); },
    removeAttribute: (name) => { delete self.attributes[name]; },
    addEventListener: (kind, act) => { self[`on ${kind}`] = act; },
    querySelector: (selector) => {
      if (!found.has(selector)) found.set(selector, made(selector));
      return found.get(selector);
    },
    querySelectorAll: () => [],
    scrollIntoView: () => {},
    cloneNode: () => made(tag),
    get content() { return self; },
    get firstElementChild() { return self.querySelector(":first-child"); },
    focus: () => {},
    get textContent() { return self.children.map((child) => child?.textContent ?? String(child)).join(""); },
    set textContent(text) { self.children = [text]; },
    get classList() { return { toggle: () => {}, contains: () => false, add: () => {}, remove: () => {} }; },
    get nextElementSibling() { return self.querySelector(" + "); },
    get previousElementSibling() { return self.querySelector(" - "); },
  };
  return self;
};

const body = made("body");
const drawings = [];
const view = { data: () => [], finalize: () => {}, addSignalListener: () => {}, addEventListener: () => {}, signal: () => {}, runAsync: async () => {}, container: () => made("div"), toSVG: async () => "" };
Object.assign(globalThis, {
  drawings,
  document: Object.assign(body, { createElement: made, createElementNS: (_, tag) => made(tag), activeElement: null }),
  window: { addEventListener: () => {}, dispatchEvent: () => {} },
  location: { hash: "", pathname: "/", search: "" },
  history: { replaceState: (_, __, address) => { location.hash = address.startsWith("#") ? address : ""; } },
  ResizeObserver: class { observe() {} },
  MutationObserver: class { observe() {} },
  InputEvent: class {},
  vegaEmbed: async (_, spec) => { drawings.push(spec); return { view, finalize: () => {} }; },
});
