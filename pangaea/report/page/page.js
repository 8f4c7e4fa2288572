// The page: which study and which part of it is shown, and what is new.

const state = { study: 0, tab: "progress", printing: false };

function report() {
  return page.reports[state.study];
}

// The headline

function showHeadline() {
  const { headline, path } = report();
  document.title = `${headline.function ?? path} · pangaea`;
  find("path").textContent = path;
  find("state").textContent = headline.state;
  find("function").textContent = headline.function ?? "";
  offer(find("take"), report().details[0]);
  find("sentence").textContent = headline.sentence;
  find("facts").replaceChildren(
    ...Object.entries(headline.facts).map(([name, value]) =>
      make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value })),
    ),
  );
  showJudged(report().judged);
}

// Buttons that copy a function as it is written elsewhere: as it starts, and as it was trained.
function offer(place, detail) {
  place.hidden = !detail;
  if (!detail) return;
  const { copies, text, trained } = detail;
  place.replaceChildren(copiers("Copy as", { ...copies, text }));
  if (Object.keys(trained).length) place.append(copiers("As trained, on average", trained));
}

function copiers(what, texts) {
  const buttons = Object.entries(texts).map(([label, text]) => copier(label, text));
  return make("p", { className: "controls" }, what, ...buttons);
}

function showJudged(table) {
  find("judged").hidden = !table;
  const notes = table?.notes ?? [];
  find("notes").replaceChildren(...notes.map((textContent) => make("p", { textContent })));
  if (!table) return;
  find("judged").replaceChildren(
    make("thead", {}, line("th", table.head, table.words)),
    make("tbody", {}, ...table.rows.map((cells) => line("td", cells, table.words))),
  );
}

// Columns of words come first, each with its class; all others hold numbers.
function line(tag, cells, words) {
  const name = (i) => (i >= words.length ? "number" : tag === "td" ? words[i] : "");
  return make(
    "tr",
    {},
    ...cells.map((cell, i) => make(tag, { textContent: cell, className: name(i) })),
  );
}

// What is needed to run it again

function showReproduce() {
  const { command, created, ...tables } = report().reproduce;
  find("reproduce").replaceChildren(
    make("h2", { textContent: "The command" }),
    make("pre", { textContent: command }),
    make("p", { className: "controls" }, copier("copy", command), `First run on ${created}`),
    make(
      "div",
      { className: "tables" },
      ...Object.entries(tables)
        .filter(([, values]) => Object.keys(values).length)
        .map(([name, values]) => make("div", {}, make("h2", { textContent: name }), pairs(values))),
    ),
  );
}

function pairs(values) {
  const rows = Object.entries(values).map(([name, value]) =>
    make(
      "tr",
      {},
      make("th", { textContent: name, scope: "row" }),
      make("td", { textContent: plain(value) }),
    ),
  );
  return make("table", {}, make("tbody", {}, ...rows));
}

function plain(value) {
  if (value === null || value === undefined) return "not given";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Which part is shown

function drawTab(tab) {
  const { figures, details } = report();
  if (tab in figures) draw(find(tab).querySelector(".figures"), figures[tab]);
  if (tab === "functions") showDetail(details);
  if (tab === "candidates") showTable();
  if (tab === "reproduce") showReproduce();
}

function showDetail(details) {
  const select = find("detail");
  select.closest("p").hidden = details.length === 0;
  const before = select.value;
  select.replaceChildren(
    ...details.map(({ number, label }) => make("option", { value: number, textContent: label })),
  );
  if (details.some(({ number }) => String(number) === before)) select.value = before;
  const chosen = details.find(({ number }) => String(number) === select.value);
  offer(find("take-detail"), chosen);
  draw(find("details"), chosen ? chosen.figures : []);
}

function show(tab) {
  state.tab = tab;
  for (const button of document.querySelectorAll("[role=tab]")) {
    const chosen = button.getAttribute("aria-controls") === tab;
    button.ariaSelected = String(chosen);
    button.tabIndex = chosen ? 0 : -1;
    find(button.getAttribute("aria-controls")).hidden = !chosen;
  }
  drawTab(tab);
}

function refresh() {
  showHeadline();
  drawTab(state.tab);
}

function tabs() {
  const buttons = [...document.querySelectorAll("[role=tab]")];
  buttons.forEach((button, i) => {
    button.onclick = () => {
      show(button.getAttribute("aria-controls"));
      history.replaceState(null, "", `#${state.tab}`);
    };
    button.onkeydown = ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const next = buttons[(i + step + buttons.length) % buttons.length];
      next.focus();
      next.click();
    };
  });
}

// A printed page has all parts, light and as wide as the paper.
function printed(on) {
  state.printing = on;
  document.body.classList.toggle("printing", on);
  for (const section of on ? document.querySelectorAll("section") : [find(state.tab)]) {
    drawTab(section.id);
  }
}

// Live: ask for news, at most every two seconds and the less often the longer an answer takes.

async function poll() {
  const began = performance.now();
  await news(state.study);
  setTimeout(poll, Math.max(2000, 5 * (performance.now() - began)));
}

async function news(study) {
  const query = new URLSearchParams(location.search);
  query.set("study", study);
  query.set("since", page.reports[study]?.tag ?? "");
  try {
    const answer = await fetch(`data?${query}`);
    if (answer.status === 204) return complain("");
    const { error, ...fresh } = await answer.json();
    complain(error ?? "");
    if (!error) take(study, fresh);
  } catch {
    complain("The dashboard does not answer: it was closed, or the connection is gone.");
  }
}

function take(study, fresh) {
  const before = page.reports[study];
  if (before && !fresh.whole) fresh.rows = [...before.rows, ...fresh.rows];
  page.reports[study] = fresh;
  if (study === state.study) refresh();
}

function complain(sentence) {
  find("error").textContent = sentence;
  find("error").hidden = !sentence;
}

async function choose(study) {
  if (page.live && !page.reports[study]) await news(study);
  if (!page.reports[study]) return;
  state.study = study;
  refresh();
}

function start() {
  const select = find("study");
  select.hidden = page.studies.length < 2;
  select.append(...page.studies.map((name, i) => make("option", { value: i, textContent: name })));
  select.onchange = () => choose(Number(select.value));
  find("detail").onchange = () => showDetail(report().details);
  find("filter").oninput = () => showTable(FIRST);
  find("more").onclick = () => showTable(view.rows + MORE);
  tabs();
  dark.onchange = () => drawTab(state.tab);
  addEventListener("beforeprint", () => printed(true));
  addEventListener("afterprint", () => printed(false));
  showHeadline();
  const named = location.hash.slice(1);
  show(find(named)?.matches("section") ? named : "progress");
  if (page.live) setTimeout(poll, 2000);
}

start();
