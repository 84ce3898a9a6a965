/* The dashboard. Everything that comes from the server is put into the page as text; nothing is ever parsed as markup. */
"use strict";

const main = document.getElementById("main");
let token = "";

/* ---- Building. */

/* element("td", { class: "number" }, "text", another, …); attributes that begin with "on" are listeners. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  fill(made, attributes, children);
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  fill(made, attributes, children);
  return made;
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(4)) if (child !== undefined && child !== null && child !== false) made.append(typeof child === "string" ? visible(child) : child);
}

/* Characters that would not be seen, or that turn the order of others, are shown by their numbers: a name is not to look like another one. */
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (one) => `\u27e8U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
}

/* In a name the ends of lines, too. */
function visibleName(name) {
  return visible(name.replace(/\n/g, "\u27e8U+000A\u27e9").replace(/\t/g, "\u27e8U+0009\u27e9"));
}

/* In the place of what is there; lists and what is absent are taken as element() takes them. */
function replace(place, ...children) {
  place.replaceChildren();
  fill(place, {}, children);
}

/* rows: arrays of cells; a cell is text, an element, { number: text }, or { name: … }, which may be as long as it likes. */
function table(caption, heads, rows, className) {
  const cell = (kind, value, scope) => {
    const isNumber = value !== null && typeof value === "object" && "number" in value;
    const isName = value !== null && typeof value === "object" && !(value instanceof Node) && "name" in value;
    return element(kind, { class: isNumber ? "number" : isName ? "long" : undefined, scope }, isNumber ? value.number : isName ? value.name : value);
  };
  return element("div", { class: "scroll" }, element("table", { class: className },
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, heads.map((head) => cell("th", head, "col")))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value) => cell("td", value)))))));
}

function crumbs(...parts) {
  return element("nav", { class: "crumbs", "aria-label": "Path" }, element("ol", {},
    parts.map(([text, href]) => element("li", {}, href ? element("a", { href }, text) : element("span", { "aria-current": "page" }, text)))));
}

/* ---- Texts. */

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}
const numberText = (value) => value.toLocaleString("en");
const timeText = (milliseconds) => new Date(milliseconds).toISOString().replace("T", " ").slice(0, 19);
const count = (value, one, many) => `${numberText(value)} ${value === 1 ? one : many}`;
/* Parts of paths; a dot alone would be taken for a folder by the browser. */
const encode = (text) => encodeURIComponent(text);

let statusTimer = 0;
function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(statusTimer);
  statusTimer = setTimeout(() => { status.textContent = ""; }, 8000);
}

/* ---- The server. */

async function ask(path, parameters, options) {
  const query = new URLSearchParams(parameters || {}).toString();
  let answer;
  try {
    answer = await fetch(`/api/${path}${query ? `?${query}` : ""}`, options);
  } catch {
    throw new Error("nilas does not answer. Is it still running?");
  }
  const text = await answer.text();
  let value;
  try { value = JSON.parse(text); } catch { throw new Error(text || `The server answered ${answer.status}.`); }
  if (!answer.ok) throw new Error(value.error || `The server answered ${answer.status}.`);
  return value;
}

function change(path, parameters, body, type) {
  const headers = { "x-nilas-token": token };
  if (type) headers["content-type"] = type;
  return ask(path, parameters, { method: "POST", headers, body });
}

/* Runs what a button stands for: it cannot be pressed twice, and what happened is told. */
async function act(button, work, done) {
  if (button) button.disabled = true;
  try {
    const result = await work();
    if (done) say(done);
    return result;
  } catch (problem) {
    say(problem.message);
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}

/* ---- Questions. */

/* Resolves to true when the person says yes. Escape and the other button say no. */
function confirmed(title, contents, yes, isDangerous) {
  const dialog = document.getElementById("dialog");
  return new Promise((resolve) => {
    const close = (value) => { dialog.close(); resolve(value); };
    replace(dialog,
      element("h2", { id: "dialog-title" }, title),
      contents,
      element("div", { class: "row" },
        element("button", { type: "button", onclick: () => close(false) }, yes ? "Cancel" : "Close"),
        yes && element("button", { type: "button", class: isDangerous ? "danger" : "main", onclick: () => close(true) }, yes)));
    dialog.oncancel = () => resolve(false);
    dialog.showModal();
  });
}

/* ---- Buckets and objects. */

async function showBuckets() {
  const buckets = await ask("buckets");
  const name = element("input", { type: "text", id: "bucket-name", required: true, minlength: 3, maxlength: 63, autocomplete: "off" });
  return [
    element("h1", {}, "Buckets"),
    element("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      act(event.submitter, async () => { await change("create-bucket", { bucket: name.value }); await show(); }, `The bucket ${name.value} is made`);
    } }, element("label", { for: "bucket-name" }, "New bucket"), name, element("button", {}, "Create")),
    table(count(buckets.length, "bucket", "buckets"), ["Name", "Created (UTC)", "Versions", "Actions"], buckets.map((bucket) => [
      element("a", { href: `#/bucket/${encode(bucket.name)}/` }, bucket.name), timeText(bucket.created), bucket.isVersioned ? "kept" : "",
      element("button", { class: "danger", "aria-label": `Delete the bucket ${bucket.name}`, onclick: (event) => deleteBucket(event.target, bucket.name) }, "Delete")])),
  ];
}

async function deleteBucket(button, bucket) {
  if (await confirmed("Delete the bucket", element("p", {}, `The bucket ${bucket} goes. One that is not empty is refused.`), "Delete", true))
    act(button, async () => { await change("delete-bucket", { bucket }); await show(); }, `The bucket ${bucket} is deleted`);
}

async function showObjects(bucket, prefix, after) {
  const page = await ask("objects", { bucket, prefix, after: after || "" });
  const parts = prefix.split("/").slice(0, -1);
  const link = (upTo) => `#/bucket/${encode(bucket)}/${encode(upTo)}`;
  const trail = [["Buckets", "#/buckets"], [bucket, parts.length ? link("") : null],
    ...parts.map((part, i) => [part || "(empty)", i + 1 < parts.length ? link(parts.slice(0, i + 1).join("/") + "/") : null])];
  return [
    crumbs(...trail),
    element("h1", {}, `${bucket}/${prefix}`),
    uploadForm(bucket, prefix),
    table(count(page.entries.length, "entry", "entries") + (page.next ? ", and more" : ""), ["Name", { number: "Size" }, "Changed (UTC)", "Actions"], page.entries.map((entry) => {
      const name = visibleName(entry.key.slice(prefix.length)) || "(this folder)";
      if (entry.isFolder) return [{ name: element("a", { href: link(entry.key) }, name) }, "", "", ""];
      return [{ name: element("a", { href: `/api/object?${new URLSearchParams({ bucket, key: entry.key })}`, download: true }, name) }, { number: sizeText(entry.size) }, timeText(entry.modified),
        element("button", { class: "danger", "aria-label": `Delete ${name}`, onclick: (event) => deleteObject(event.target, bucket, entry.key) }, "Delete")];
    })),
    page.next && element("p", {}, element("button", { onclick: (event) => act(event.target, async () => { replace(main, await showObjects(bucket, prefix, page.next)); main.focus(); }) },
      "The next ones")),
  ];
}

function uploadForm(bucket, prefix) {
  const files = element("input", { type: "file", multiple: true, id: "files" });
  const upload = (button, list) => act(button, async () => {
    for (const file of list) {
      say(`${file.name}: ${sizeText(file.size)} on the way`);
      await change("upload", { bucket, key: prefix + file.name }, file, file.type || "application/octet-stream");
    }
    await show();
  }, `${count(list.length, "file is", "files are")} there`);
  const zone = element("form", { class: "drop row", onsubmit: (event) => { event.preventDefault(); upload(event.submitter, files.files); },
    ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); }, ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); zone.classList.remove("over"); upload(null, event.dataTransfer.files); } },
  element("label", { for: "files" }, "Files to upload, or drop them here"), files, element("button", {}, "Upload"));
  return zone;
}

async function deleteObject(button, bucket, key) {
  if (await confirmed("Delete the object", element("p", { class: "code" }, `${bucket}/${visibleName(key)}`), "Delete", true))
    act(button, async () => { await change("delete-object", { bucket, key }); await show(); }, `${key} is deleted`);
}

/* ---- Catalogs. */

const kindTexts = { plain: "warehouse", tableBucket: "table bucket", glue: "Glue Data Catalog" };
const separator = "\u001f";

async function showCatalogs() {
  const warehouses = await ask("warehouses");
  const lists = await Promise.all(warehouses.map((warehouse) => ask("tables", { warehouse: warehouse.id })));
  return [element("h1", {}, "Catalogs"), warehouses.map((warehouse, i) => showWarehouse(warehouse, lists[i])),
    warehouses.length === 0 && element("p", {}, "There is none yet.")];
}

function showWarehouse(warehouse, namespaces) {
  const rows = namespaces.flatMap((entry) => {
    const name = entry.namespace.join(".");
    const tables = entry.tables.map((one) => [name, one.hasMetadata
      ? element("a", { href: `#/table/${warehouse.id}/${encode(entry.namespace.join(separator))}/${encode(one.name)}` }, one.name) : one.name,
    one.hasMetadata ? "table" : "table without metadata", timeText(one.modified)]);
    const views = entry.views.map((one) => [name, one.name, "view", timeText(one.modified)]);
    return tables.length + views.length ? [...tables, ...views] : [[name, element("span", { class: "quiet" }, "empty"), "", ""]];
  });
  return element("section", { class: "panel" },
    element("h2", {}, warehouse.name, " ", element("span", { class: "mark" }, kindTexts[warehouse.kind])),
    element("p", { class: "quiet code" }, warehouse.arn || warehouse.location),
    rows.length ? table(`Tables of ${warehouse.name}`, ["Namespace", "Name", "Kind", "Changed (UTC)"], rows) : element("p", { class: "quiet" }, "No namespace yet."));
}

/* ---- One table. */

async function showTable(warehouse, namespace, name) {
  const which = { warehouse, namespace, name };
  const facts = await ask("table", which);
  const health = element("section", { "aria-busy": "true" }, element("h2", {}, "Health"), element("p", { class: "quiet" }, "Reading the manifests …"));
  showHealth(health, which);
  return [
    crumbs(["Catalogs", "#/catalogs"], [`${namespace.split(separator).join(".")}.${name}`, null]),
    element("h1", {}, `${namespace.split(separator).join(".")}.${name}`),
    element("p", { class: "quiet" }, `Format version ${facts.formatVersion}, changed ${timeText(facts.updated)} UTC, `, element("span", { class: "code" }, facts.location)),
    health,
    element("h2", {}, "Columns"),
    table(count(facts.columns.length, "column", "columns"), [{ number: "Id" }, "Name", "Type", "Null", "Comment"], facts.columns.map((column) => [
      { number: column.id }, column.name, element("code", {}, column.type), column.isRequired ? "not null" : "", column.doc])),
    element("p", {}, facts.partitions.length ? `Partitioned by ${facts.partitions.map((field) => `${field.name} (${field.transform})`).join(", ")}.` : "Not partitioned.",
      facts.sortOrder ? ` Sorted by ${facts.sortOrder}.` : ""),
    element("h2", {}, "Branches and tags"),
    table(count(facts.refs.length, "reference", "references"), ["Name", "Kind", "Snapshot"], facts.refs.map((ref) => [ref.name, ref.isTag ? "tag" : "branch", element("code", {}, ref.snapshot)])),
    element("h2", {}, "Snapshots"),
    table(facts.snapshots.length < facts.snapshotCount ? `The newest ${facts.snapshots.length} of ${count(facts.snapshotCount, "snapshot", "snapshots")}` : count(facts.snapshotCount, "snapshot", "snapshots"),
      ["Time (UTC)", "Operation", "Snapshot", { number: "Rows added" }, { number: "Rows deleted" }, { number: "Files added" }, { number: "Files removed" }, "Summary"],
      facts.snapshots.map((snapshot) => snapshotRow(snapshot, facts.refs))),
    element("h2", {}, "Properties"),
    table("Table properties", ["Key", "Value"], Object.entries(facts.properties).map(([key, value]) => [element("code", {}, key), element("code", {}, value)])),
  ];
}

function snapshotRow(snapshot, refs) {
  const number = (key) => ({ number: snapshot.summary[key] ? numberText(Number(snapshot.summary[key])) : "" });
  const names = refs.filter((ref) => ref.snapshot === snapshot.id).map((ref) => [" ", element("span", { class: "mark" }, ref.name)]);
  return [timeText(snapshot.timestamp), snapshot.operation, [element("code", {}, snapshot.id), names], number("added-records"), number("deleted-records"), number("added-data-files"),
    number("deleted-data-files"),
    element("details", {}, element("summary", {}, "all"), element("pre", {}, Object.entries(snapshot.summary).map(([key, value]) => `${key} = ${value}\n`)))];
}

async function showHealth(place, which) {
  let health;
  try {
    health = await ask("health", which);
  } catch (problem) {
    replace(place, element("h2", {}, "Health"), element("p", { class: "error", role: "alert" }, problem.message));
    return;
  } finally {
    place.removeAttribute("aria-busy");
  }
  const fact = (name, value, more) => element("div", {}, element("dt", {}, name), element("dd", {}, value, more && element("small", {}, more)));
  const deletes = health.positionDeletes + health.equalityDeletes + health.vectorDeletes;
  const deleteFiles = health.positionDeleteFiles + health.equalityDeleteFiles + health.vectors;
  replace(place,
    element("h2", {}, "Health"),
    element("dl", { class: "facts" },
      fact("Data files", numberText(health.dataFiles), `${sizeText(health.dataBytes)} in ${count(health.partitions || (health.dataFiles ? 1 : 0), "partition", "partitions")}`),
      fact("Mean file size", health.dataFiles ? sizeText(health.dataBytes / health.dataFiles) : "none", `target ${sizeText(health.targetFileBytes)}`),
      fact("Rows", numberText(health.rows), "before deletes"),
      fact("Delete debt", health.rows ? `${(100 * deletes / health.rows).toFixed(1)} %` : "none", `${count(deletes, "delete", "deletes")} in ${count(deleteFiles, "file", "files")}` + (health.danglingDeleteFiles ? `, ${numberText(health.danglingDeleteFiles)} of them dangling` : "")),
      fact("Manifests", numberText(health.dataManifests + health.deleteManifests), sizeText(health.manifestBytes)),
      fact("Snapshots", numberText(health.snapshots), `${numberText(health.expirableSnapshots)} may expire`),
      fact("Metadata file", sizeText(health.metadataBytes), `names ${count(health.metadataLog, "earlier one", "earlier ones")}`)),
    histogram(health),
    element("h3", {}, "What to run"),
    health.advice.length ? health.advice.map((advice) => showAdvice(advice, which)) : element("p", { class: "good" }, "Nothing: the table is in good shape."),
    element("p", {}, element("button", { onclick: (event) => run(event.target, { procedure: "remove_orphan_files" }, which) }, "Look for orphan files …")));
}

function histogram(health) {
  const most = Math.max(1, ...health.histogram.map((bar) => bar.files));
  let from = 0;
  const rows = health.histogram.map((bar) => {
    const text = bar.below ? `${sizeText(from)} to ${sizeText(bar.below)}` : `${sizeText(from)} and more`;
    const isSmall = bar.below && bar.below <= 0.75 * health.targetFileBytes;
    from = bar.below;
    return [text, { number: numberText(bar.files) }, { number: sizeText(bar.bytes) },
      drawing("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
        drawing("rect", { class: isSmall ? "small" : undefined, x: 0, y: 1, height: 8, width: bar.files ? Math.max(0.5, 100 * bar.files / most) : 0 }))];
  });
  return table("Data files by size", ["Size", { number: "Files" }, { number: "Bytes" }, "Share"], rows, "histogram");
}

function showAdvice(advice, which) {
  return element("div", { class: advice.isUrgent ? "panel advice urgent" : "panel advice" },
    element("h3", { class: "code" }, advice.procedure, advice.isUrgent && element("span", { class: "mark" }, "reads suffer")),
    element("p", {}, `${advice.why[0].toUpperCase()}${advice.why.slice(1)}.`),
    element("button", { onclick: (event) => run(event.target, advice, which) }, "Dry run …"));
}

/* First what would be done; then, if wanted, it is done. */
async function run(button, advice, which) {
  const parameters = { ...which, procedure: advice.procedure };
  const plan = await act(button, () => change("maintenance", { ...parameters, dry: "true" }));
  if (!plan) return;
  const contents = element("div", {},
    plan.effect && element("p", {}, `It ${plan.effect}.`),
    plan.statement && element("pre", {}, plan.statement.replace(", dry_run => true", "")),
    plan.columns && table(plan.rows.length ? count(plan.rows.length, "row", "rows") : "Nothing to do", plan.columns, plan.rows));
  const isIdle = advice.procedure === "remove_orphan_files" && plan.rows.length === 0;
  if (!await confirmed(`Dry run of ${advice.procedure}`, contents, isIdle ? null : "Run it now", false)) return;
  const result = await act(button, () => change("maintenance", { ...parameters, dry: "false" }), `${advice.procedure} is done`);
  if (!result) return;
  await show();
  if (result.columns && result.columns.length) await confirmed(`${advice.procedure} is done`, table("Result", result.columns, result.rows), null, false);
}

/* ---- Queries. */

let queriesTimer = 0;

async function showQueries() {
  const list = element("div", { "aria-live": "off" });
  const refresh = async () => {
    let queries;
    try { queries = await ask("queries"); } catch (problem) { say(problem.message); return; }
    replace(list, table(queries.length ? count(queries.length, "query runs", "queries run") : "Nothing runs now.", ["Since (UTC)", "Source", "Statement", "Progress", "Actions"], queries.map((query) => [
      timeText(query.started), query.source, element("pre", {}, query.text),
      [element("progress", { max: query.filesTotal || 1, value: query.filesTotal ? query.files : undefined, "aria-label": "files read" }),
        element("div", { class: "quiet" }, `${numberText(query.rows)} rows, ${sizeText(query.bytes)}, ${numberText(query.files)} of ${numberText(query.filesTotal)} files`)],
      element("button", { class: "danger", onclick: (event) => act(event.target, () => change("cancel-query", { id: query.id }), "It is asked to stop") }, "Stop")])));
  };
  await refresh();
  queriesTimer = setInterval(refresh, 1000);
  return [element("h1", {}, "Running queries"), list];
}

/* ---- Which part is shown: the address behind '#'. */

async function contents() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (parts[0] === "buckets") return showBuckets();
  if (parts[0] === "bucket" && parts.length >= 2) return showObjects(parts[1], parts[2] || "");
  if (parts[0] === "table" && parts.length === 4) return showTable(parts[1], parts[2], parts[3]);
  if (parts[0] === "queries") return showQueries();
  return showCatalogs();
}

let shown = 0;
async function show(isNewPage) {
  const mine = ++shown;
  clearInterval(queriesTimer);
  const section = location.hash.includes("bucket") ? "#/buckets" : location.hash.startsWith("#/queries") ? "#/queries" : "#/catalogs";
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  let parts;
  try {
    parts = await contents();
  } catch (problem) {
    parts = [element("h1", {}, "That did not work"), element("p", { class: "error", role: "alert" }, problem.message)];
  }
  if (mine !== shown) return;
  replace(main, element("div", {}, parts));
  document.title = `${main.querySelector("h1").textContent} · nilas`;
  if (isNewPage) main.focus();
}

async function begin() {
  window.addEventListener("hashchange", () => show(true));
  try {
    const session = await ask("session");
    token = session.token;
    document.getElementById("version").textContent = session.version;
  } catch (problem) {
    say(problem.message);
  }
  show(false);
}

begin();
