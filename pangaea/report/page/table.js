// The table of candidates: the first hundred of what was asked for, and more when wanted.

const [FIRST, MORE] = [100, 500];
const view = { sort: "search", down: true, rows: FIRST };

// Each with its style, the value that it is sorted by, and whether it starts with the greatest.
// Scores are sorted by how good they are: what is best comes first, whatever the goal.
const COLUMNS = {
  "#": ["number", (row) => row[0], false],
  function: ["formula", (row) => row[2], false],
  search: ["number", (row) => worth(row[3]), true],
  gain: ["number", (row) => gain(row), true],
  again: ["number", ([, text]) => known(report().again, text)?.[0] ?? null, true],
  full: ["number", ([, text]) => known(report().full, text)?.[0] ?? null, true],
  test: ["number", (row) => worth(testOf(row)?.mean ?? null), true],
  seconds: ["number", (row) => row[4], false],
  mutation: ["made", (row) => row[6], false],
  failure: ["made", (row) => row[7], true],
  copy: ["copy", null],
};

// Not every study trains the best again with several budgets.
function columns() {
  return Object.keys(COLUMNS).filter((name) => name !== "again" || name in report().columns);
}

// So that larger is better.
function worth(score) {
  return score === null ? null : report().goal.maximised ? score : -score;
}

function gain([, , , score]) {
  const baseline = report().baseline.score;
  return score === null || baseline === null ? null : worth(score) - worth(baseline);
}

// The best functions can be copied as source too.
function copiesOf(number) {
  return report().details.find((detail) => detail.number === number)?.copies ?? {};
}

function testOf(row) {
  return report().headline.tested.find((tested) => tested.function === row[1]);
}

// A text may be the name of something that every object has.
function known(values, text) {
  return Object.hasOwn(values, text) ? values[text] : null;
}

function showTable(count = view.rows) {
  view.rows = count;
  const wanted = find("filter").value.trim().toLowerCase();
  const rows = report().rows.filter((row) =>
    [0, 1, 2, 6, 7].some((i) => String(row[i] ?? "").toLowerCase().includes(wanted)),
  );
  const value = COLUMNS[view.sort][1];
  rows.sort((a, b) => order(value(a), value(b)) * (view.down ? -1 : 1) || a[0] - b[0]);
  find("table").tHead.replaceChildren(make("tr", {}, ...columns().map(heading)));
  find("table").tBodies[0].replaceChildren(...rows.slice(0, view.rows).map(candidate));
  find("legend").textContent = legend();
  find("count").textContent = `${rows.length} of ${report().rows.length} candidates`;
  find("more").hidden = rows.length <= view.rows;
}

// What is missing comes first when rising, and so last when falling.
function order(a, b) {
  if (a === null || b === null) return (a !== null) - (b !== null);
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}

function heading(name) {
  const [className, value] = COLUMNS[name];
  const cell = make("th", { scope: "col", className });
  if (value === null) {
    cell.textContent = name;
    return cell;
  }
  if (name === view.sort) cell.ariaSort = view.down ? "descending" : "ascending";
  cell.append(make("button", { textContent: name, onclick: () => sortBy(name) }));
  return cell;
}

function sortBy(name) {
  view.down = name === view.sort ? !view.down : COLUMNS[name][2];
  view.sort = name;
  showTable();
}

function candidate(row) {
  const [number, text, readable, score, seconds, parent, mutation, failure, detail, latex, runs] =
    row;
  const test = testOf(row);
  const texts = {
    "#": number,
    function: readable,
    search: score === null ? "" : shown(score, score),
    gain: signedGain(row),
    again: known(report().again, text)?.[1] ?? "",
    full: known(report().full, text)?.[1] ?? "",
    test: test ? `${test.shown} ${test.stars}` : "",
    seconds: seconds.toFixed(1),
    mutation: parent === null ? mutation : `${mutation} of ${parent}`,
    failure: failure ?? "",
    copy: "",
  };
  const cells = {};
  for (const name of columns())
    cells[name] = make("td", { textContent: texts[name], className: COLUMNS[name][0] });
  if (runs > 1) cells.search.title = `of ${runs} runs: the mean of the longest`;
  if (detail) cells.failure.title = detail;
  const copies = { text, LaTeX: latex, ...copiesOf(number) };
  cells.copy.append(...Object.entries(copies).flatMap(([label, what]) => [copier(label, what), " "]));
  return make("tr", { className: failure ? "failed" : "" }, ...Object.values(cells));
}

function signedGain(row) {
  const value = gain(row);
  if (value === null) return "";
  const scale = Math.max(Math.abs(row[3]), Math.abs(report().baseline.score));
  return (value < 0 ? "−" : "+") + shown(Math.abs(value), scale);
}

// A number as scores of such a size are shown everywhere.
function shown(number, scale) {
  const { digits, limits } = report().goal;
  const size = Math.abs(scale);
  const plain = size === 0 || (limits[0] <= size && size < limits[1]);
  return plain ? number.toFixed(digits) : number.toExponential(2);
}

// What the columns are.
function legend() {
  const lines = Object.entries(report().columns).map(([name, what]) => `${name}: ${what}`);
  return `${lines.join(". ")}. gain: by how much search is better than ${report().baseline.name}.`;
}

function copier(label, text) {
  const button = make("button", { textContent: label, title: text, disabled: !text });
  button.onclick = async () => {
    await copy(text);
    button.textContent = "copied";
    setTimeout(() => (button.textContent = label), 1000);
  };
  return button;
}

async function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy"); // all that a page without HTTPS is allowed
  area.remove();
}
