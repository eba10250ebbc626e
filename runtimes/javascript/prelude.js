// Evaluated in every JavaScript instance before the program. It makes the few globals that the program may use for
// input and output, and returns the function that reports an uncaught error. Nothing here decides a limit.
//
// Globals: console.{log,info,debug,warn,error}, print, readStdin(), exit(code). There is no API of Node or of a browser.
(function (host) {
  "use strict";
  const { out, err, stdin, missing, exit } = host;
  const DEPTH = 3;
  const ITEMS = 100;

  const quote = (text) => "'" + text.replace(/\\/g, "\\\\").replace(/'/g, "\\'").replace(/\n/g, "\\n") + "'";

  // Message and stack as one text; the engine's stack does not begin with the message.
  const showError = (error) => {
    const head = String(error);
    const stack = typeof error.stack === "string" ? error.stack.replace(/^ {4}at .*\(<host>.*\n?/gm, "").trimEnd() : "";
    const cause = error.cause === undefined ? "" : "\n  [cause]: " + show(error.cause, 1, []);
    return (stack ? head + "\n" + stack : head) + cause;
  };

  const list = (open, parts, close) => {
    if (parts.length === 0) return open + close;
    const line = open + " " + parts.join(", ") + " " + close;
    return line.length <= 76 && !line.includes("\n") ? line : open + "\n  " + parts.join(",\n").replace(/\n/g, "\n  ") + "\n" + close;
  };

  const members = (value, depth, seen) => {
    const parts = [];
    for (const key of Reflect.ownKeys(value)) {
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      if (!property || !property.enumerable) continue;
      if (Array.isArray(value) && /^\d+$/.test(String(key))) continue;
      const name = typeof key === "symbol" ? "[" + String(key) + "]" : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key);
      parts.push(name + ": " + ("value" in property ? show(property.value, depth + 1, seen) : "[Getter]"));
    }
    return parts;
  };

  const items = (values, size, depth, seen, one) => {
    const parts = [];
    for (const value of values) {
      if (parts.length === ITEMS) {
        parts.push("... " + (size - ITEMS) + " more");
        break;
      }
      parts.push(one ? one(value) : show(value, depth + 1, seen));
    }
    return parts;
  };

  const showObject = (value, depth, seen) => {
    if (seen.includes(value)) return "[Circular]";
    if (value instanceof Error) return depth === 0 ? showError(value) : "[" + showError(value) + "]";
    if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    const maker = typeof value.constructor === "function" ? value.constructor.name : "";
    if (typeof value === "function") return value.toString().startsWith("class") ? "[class " + value.name + "]" : "[Function: " + (value.name || "(anonymous)") + "]";
    if (value instanceof Promise) return "Promise {}";
    if (depth >= DEPTH) return "[" + (maker || "Object") + "]";
    const inside = [...seen, value];
    const pair = ([key, item]) => show(key, depth + 1, inside) + " => " + show(item, depth + 1, inside);
    if (value instanceof Map) return list("Map(" + value.size + ") {", items(value, value.size, depth, inside, pair), "}");
    if (value instanceof Set) return list("Set(" + value.size + ") {", items(value, value.size, depth, inside), "}");
    if (Array.isArray(value)) return list("[", items(value, value.length, depth, inside).concat(members(value, depth, inside)), "]");
    if (ArrayBuffer.isView(value) && "length" in value) return list(maker + "(" + value.length + ") [", items(value, value.length, depth, inside), "]");
    const prefix = maker === "Object" ? "" : (maker || "[Object: null prototype]") + " ";
    return list(prefix + "{", members(value, depth, inside), "}");
  };

  function show(value, depth, seen) {
    if (typeof value === "string") return depth === 0 ? value : quote(value);
    if (typeof value === "bigint") return value + "n";
    if (Object.is(value, -0)) return "-0";
    if (value === null || (typeof value !== "object" && typeof value !== "function")) return String(value);
    return showObject(value, depth, seen);
  }

  const formats = {
    s: (value) => (typeof value === "object" ? show(value, 1, []) : String(value)),
    d: (value) => String(Number(value)),
    i: (value) => String(parseInt(value, 10)),
    f: (value) => String(parseFloat(value)),
    j: (value) => JSON.stringify(value),
    o: (value) => show(value, 1, []),
    O: (value) => show(value, 1, []),
  };

  const line = (values) => {
    const rest = values.slice();
    let head = "";
    if (typeof rest[0] === "string" && rest.length > 1 && rest[0].includes("%")) {
      head = rest.shift().replace(/%([sdifjoO%])/g, (all, kind) => (kind === "%" ? "%" : rest.length ? formats[kind](rest.shift()) : all));
      if (rest.length) head += " ";
    }
    return head + rest.map((value) => show(value, 0, [])).join(" ") + "\n";
  };

  const printer = (write) => (...values) => write(line(values));
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  const print = printer(out);
  const warn = printer(err);
  define("console", { log: print, info: print, debug: print, warn, error: warn });
  define("print", print);
  define("readStdin", () => stdin());
  define("exit", (code = 0) => exit(Number(code) | 0));

  const ELSEWHERE = /^(require|module|exports|process|Buffer|__dirname|__filename|global|fetch|XMLHttpRequest|WebSocket|setTimeout|setInterval|setImmediate|clearTimeout|clearInterval|TextEncoder|TextDecoder|URL|URLSearchParams|structuredClone|crypto|AbortController|Worker|SharedArrayBuffer|WebAssembly|Intl|window|document|navigator|localStorage|Deno|Bun|alert)$/;

  // Reports what the program did not catch.
  return (error, kind) => {
    err("Uncaught " + kind + (error instanceof Error ? showError(error) : show(error, 1, [])) + "\n");
    const name = error instanceof ReferenceError && /^(\S+) is not defined$/.exec(error.message)?.[1];
    if (name && ELSEWHERE.test(name)) missing(name);
    const module = error instanceof Error && /^Cannot find module '(.*)'$/.exec(error.message)?.[1];
    if (module) missing("the module " + module);
  };
})
