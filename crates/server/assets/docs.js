// Signing in, filtering and trying out on the page of the API. The page reads well without it; nothing is loaded
// from elsewhere, and the key stays in this tab.
"use strict";

const KEY = "omni-skills-key";
const base = location.pathname.replace(/\/api\/docs$/, "");

function credential() {
  const key = sessionStorage.getItem(KEY);
  return key ? { Authorization: `Bearer ${key}` } : {};
}

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

/* Sign in: ask for the page again, with the key. */

async function enter(key) {
  sessionStorage.setItem(KEY, key);
  const answer = await fetch(location.pathname, { headers: { ...credential(), Accept: "text/html" } });
  if (!answer.ok) {
    sessionStorage.removeItem(KEY);
    throw new Error(answer.status === 403 ? "This key lacks the scope read:skills." : "This key is not known here.");
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.body.replaceWith(page.body);
  start();
}

function signIn() {
  const form = document.querySelector("form");
  const tell = (error) => {
    form.querySelector(".problem").textContent = error.message;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enter(form.querySelector("#key").value.trim()).catch(tell);
  });
  const known = sessionStorage.getItem(KEY);
  if (known) enter(known).catch(tell);
}

/* Filter: operations that have every word in their path, title, scope or name. */

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const operation of document.querySelectorAll(".operation")) {
    const about = `${operation.id} ${operation.querySelector("summary").textContent}`.toLowerCase();
    const fits = words.every((word) => about.includes(word));
    operation.toggleAttribute("data-off", !fits);
    document.querySelector(`[data-for="${operation.id}"]`).toggleAttribute("data-off", !fits);
    shown += fits ? 1 : 0;
  }
  for (const section of document.querySelectorAll("main > section")) {
    const left = section.querySelectorAll(".operation:not([data-off])").length;
    section.toggleAttribute("data-off", words.length > 0 && left === 0);
  }
  document.querySelector(".count").textContent = words.length ? `${shown} operations` : "";
}

/* Try out: a form made of what the page says about an operation. */

function tryOut(operation) {
  const place = operation.querySelector(".try");
  if (place.firstChild || "stream" in operation.dataset) return;
  const form = element("form");
  for (const row of operation.querySelectorAll(".parameters li")) {
    const input = element("input", { name: row.dataset.name, required: "required" in row.dataset });
    input.dataset.in = row.dataset.in;
    form.append(element("label", {}, `${row.dataset.name} (${row.dataset.in})`, input));
  }
  const example = operation.querySelector(".example");
  if (example) {
    const body = element("textarea", { name: "body", value: example.textContent, spellcheck: false });
    body.dataset.media = example.dataset.media;
    form.append(element("label", {}, "Body", body));
  }
  const output = element("div");
  output.setAttribute("aria-live", "polite");
  form.append(element("button", {}, `Send ${operation.dataset.method}`), output);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(operation, form, output);
  });
  place.append(element("h3", {}, "Try it"), form);
  place.hidden = false;
}

function requested(operation, form) {
  let path = operation.dataset.path;
  const query = new URLSearchParams();
  const headers = credential();
  for (const input of form.querySelectorAll("input")) {
    if (input.value === "") continue;
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    if (input.dataset.in === "query") query.append(input.name, input.value);
    if (input.dataset.in === "header") headers[input.name] = input.value;
  }
  const body = form.querySelector("textarea");
  const options = { method: operation.dataset.method, headers };
  if (body && body.value.trim()) {
    headers["Content-Type"] = body.dataset.media;
    options.body = body.value;
  }
  const words = query.toString();
  return [`${base}${path}${words ? `?${words}` : ""}`, options];
}

async function send(operation, form, output) {
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(...requested(operation, form));
    const text = await answer.text();
    const status = element("p", { className: answer.ok ? "status" : "status failed" }, `${answer.status} ${answer.statusText}`);
    output.replaceChildren(status, element("pre", { tabIndex: 0 }, pretty(text)));
  } catch (error) {
    output.replaceChildren(element("p", { className: "status failed" }, `The gateway cannot be reached: ${error.message}`));
  }
  button.disabled = false;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/* A link to an operation opens it. */

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
  target?.scrollIntoView();
}

function start() {
  document.querySelector(".tools").hidden = false;
  if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav > details").open = false;
  document.querySelector("#filter").addEventListener("input", (event) => filter(event.target.value));
  const key = document.querySelector("#key");
  key.value = sessionStorage.getItem(KEY) ?? "";
  key.addEventListener("change", () => sessionStorage.setItem(KEY, key.value.trim()));
  for (const operation of document.querySelectorAll(".operation")) {
    operation.addEventListener("toggle", () => operation.open && tryOut(operation));
  }
  document.querySelector("[data-fetched]").addEventListener("click", (event) => {
    event.preventDefault();
    download(event.target.href).catch((error) => alert(error.message));
  });
  addEventListener("hashchange", reveal);
  reveal();
}

/* A plain link would go without the key. */
async function download(address) {
  const answer = await fetch(address, { headers: credential() });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const link = element("a", { href: URL.createObjectURL(await answer.blob()), download: "openapi.json" });
  link.click();
  URL.revokeObjectURL(link.href);
}

if (document.body.dataset.page === "sign-in") signIn();
else start();
