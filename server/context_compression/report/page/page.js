"use strict";
// What the page does beyond showing itself: values of a request, the search, texts side by side.
// Texts of the report are only ever set as text, never as HTML.

const byId = (id) => document.getElementById(id);
const dataOf = (id) => JSON.parse(byId(id).textContent);

function make(tag, attributes, ...pieces) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...pieces);
  return made;
}

// The window over time: the slider, the pointer and the arrow keys choose a request.

function window_() {
  const slider = byId("request");
  if (!slider) return;
  const requests = dataOf("requests");
  const plot = document.querySelector(".plot");
  const cursor = plot.querySelector(".cursor");
  const [title, note] = byId("chosen").children;
  const values = [...document.querySelectorAll("[data-kind]")];

  function choose(index) {
    const request = requests[index];
    slider.value = index;
    slider.setAttribute("aria-valuetext", `${request.title} ${request.note}`);
    title.textContent = request.title;
    note.textContent = request.note;
    for (const value of values) value.textContent = request.sizes[value.dataset.kind];
    cursor.setAttribute("x1", `${request.x}%`);
    cursor.setAttribute("x2", `${request.x}%`);
  }

  function nearest(event) {
    const box = plot.getBoundingClientRect();
    const x = (100 * (event.clientX - box.left)) / box.width;
    let best = 0;
    requests.forEach((request, index) => {
      if (Math.abs(request.x - x) < Math.abs(requests[best].x - x)) best = index;
    });
    return best;
  }

  function show(index) {
    plot.classList.add("chosen");
    choose(index);
  }

  slider.addEventListener("input", () => show(Number(slider.value)));
  plot.addEventListener("pointermove", (event) => show(nearest(event)));
  plot.addEventListener("pointerdown", (event) => show(nearest(event)));
  slider.hidden = false;
  choose(requests.length - 1);
}

// Which lines of an original are still in what the model sees, and which lines are new there.

function common(left, right) {
  const kept = [new Set(), new Set()];
  let start = 0;
  let a = left.length;
  let b = right.length;
  const keep = (i, j) => {
    kept[0].add(i);
    kept[1].add(j);
  };
  while (start < a && start < b && left[start] === right[start]) keep(start, start++);
  while (a > start && b > start && left[a - 1] === right[b - 1]) keep(--a, --b);
  const width = b - start + 1;
  if ((a - start + 1) * width > 4e6) return kept;
  const table = new Uint16Array((a - start + 1) * width);
  for (let i = a - 1; i >= start; i--)
    for (let j = b - 1; j >= start; j--) {
      const at = (i - start) * width + j - start;
      table[at] =
        left[i] === right[j]
          ? table[at + width + 1] + 1
          : Math.max(table[at + width], table[at + 1]);
    }
  for (let i = start, j = start; i < a && j < b; ) {
    const at = (i - start) * width + j - start;
    if (left[i] === right[j]) keep(i++, j++);
    else if (table[at + width] >= table[at + 1]) i++;
    else j++;
  }
  return kept;
}

function pane(label, lines, kept, tag, word) {
  const text = make("pre", { tabindex: "0", role: "region", "aria-label": label });
  for (let at = 0; at < lines.length; ) {
    const same = kept.has(at);
    let end = at;
    while (end < lines.length && kept.has(end) === same) end++;
    const part = lines.slice(at, end).join("\n");
    text.append(same ? make("span", {}, part) : make(tag, { "data-word": word }, part));
    at = end;
  }
  return text;
}

function fill(box, texts) {
  const left = texts.original.split("\n");
  const right = texts.shown ? texts.shown.split("\n") : [];
  const kept = common(left, right);
  const original = make("div", {}, make("h4", {}, "The original"));
  if (texts.original) original.append(pane("The original", left, kept[0], "del", "left"));
  else original.append(make("p", { class: "nothing" }, "Its text is not in this page."));
  if (texts.cut) original.append(make("p", { class: "note" }, texts.cut));
  const shown = make("div", {}, make("h4", {}, "What the model sees"));
  if (right.length) shown.append(pane("What the model sees", right, kept[1], "ins", "new"));
  else if (texts.original)
    shown.append(make("p", { class: "nothing" }, "Nothing stands in its place."));
  box.append(original, shown);
}

const SHOWN = 15; // refs until more are asked for

function originals() {
  const list = byId("refs");
  if (!list) return;
  const items = [...list.children];
  let texts = null;
  const all = () => (texts ??= dataOf("texts"));
  let lower = null;
  const searched = () =>
    (lower ??= all().map((each) =>
      `${each.find}\n${each.original}\n${each.shown}`.toLowerCase(),
    ));

  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const box = byId(button.getAttribute("aria-controls"));
    if (!box.hasChildNodes()) fill(box, all()[button.closest("li").dataset.index]);
    box.hidden = !box.hidden;
    button.setAttribute("aria-expanded", String(!box.hidden));
  });

  const words = byId("words");
  const more = byId("more");
  let most = SHOWN;
  const restored = byId("restored");
  const order = byId("order");

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const item of items) {
      const text = wanted.length ? searched()[item.dataset.index] : "";
      const fits =
        wanted.every((word) => text.includes(word)) &&
        !(restored.checked && item.dataset.restored === "0");
      item.hidden = !fits;
      found += fits;
      item.classList.toggle("later", found > most);
    }
    more.textContent = `Show ${found - most} more`;
    more.hidden = found <= most;
    byId("found").textContent = `${found} of ${items.length}`;
    byId("none").hidden = found > 0;
  }

  function sort() {
    const key = order.value;
    const places = (item) => Number(item.dataset.index);
    items.sort((a, b) => b.dataset[key] - a.dataset[key] || places(a) - places(b));
    list.append(...items);
    filter();
  }

  more.addEventListener("click", () => {
    const next = items.filter((item) => !item.hidden)[most];
    most = Infinity;
    filter();
    next.querySelector("button").focus();
  });

  words.addEventListener("input", filter);
  restored.addEventListener("change", filter);
  order.addEventListener("change", sort);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").hidden = false;
  filter();
}

window_();
originals();
