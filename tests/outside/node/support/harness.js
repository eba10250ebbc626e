// What the test files share: a fake upstream with a gateway in front, scripts, and what must hold of every answer.
"use strict";

const assert = require("node:assert/strict");
const { after, afterEach, before, describe, it } = require("node:test");
const { Fake, Gateway } = require("./processes.js");

const MODEL = "fake-model";
/** Words that only our own calls contain; no client may see them. */
const SECRET = ["eval_code", "console.log", "__1_0_0", "r-1", "r-3"];

const text = (words, more = {}) => ({ text: words, ...more });
const calls = (...made) => ({ calls: made });
const run = (code) => ({ name: "eval_code", arguments: { language: "javascript", code } });
const weather = (city) => ({ name: "get_weather", arguments: { city }, exact: true });

/** Two skills at once, then the answer. */
const HIDDEN = [
  {
    ...calls(run("console.log('r-' + 1)"), run("console.log('r-' + 3)")),
    text: "Let me see. ",
    usage: { input: 100, output: 10 },
  },
  text("It is 42.", { usage: { input: 150, output: 20 } }),
];

/** Ours and the client's in one message, in turn; then the answer. */
const MIXED = [
  calls(run("console.log('r-' + 1)"), weather("Łódź"), run("console.log('r-' + 3)"), weather("Qom")),
  text("Warm in both."),
];

/** A skill runs; then a plain answer fails, or a stream breaks off after some of its words. */
const FAILING = {
  plain: [calls(run("console.log('r-' + 1)")), { fault: { http: { status: 500 } } }],
  streamed: [calls(run("console.log('r-' + 1)")), text("one two three four", { fault: { drop_after_events: 5 } })],
};

/** A header that we refuse. */
const REFUSED = { "x-omni-skills": "maybe" };

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

let count = 0;

/** Runs tests with a fake upstream and a gateway; nothing illegal may reach the upstream in any of them. */
function suite(name, define) {
  describe(name, { concurrency: false }, () => {
    const world = {};
    before(async () => {
      world.fake = await Fake.start();
      world.gateway = await Gateway.start(world.fake.url);
    });
    afterEach(async () => {
      const refusals = (await world.fake.requests()).map((request) => request.refusal).filter(Boolean);
      assert.deepEqual(refusals, []);
    });
    after(async () => {
      await world.gateway?.stop();
      await world.fake?.stop();
    });
    const test = (title, body) => it(title, { timeout: 60_000 }, () => body(world));
    define(test, world);
  });
}

/** Each conversation begins with other words, since equal beginnings are one conversation. */
const fresh = (words = "please help") => `${words} (${process.pid}-${(count += 1)})`;

/** Fails if any trace of our own calls is in what the application saw. */
function clean(...seen) {
  const whole = seen.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("\n");
  // The members under `omni` are meant for the client; they name the skill with its version.
  const visible = whole.replaceAll("eval_code@1.0.0", "");
  for (const word of SECRET) assert.ok(!visible.includes(word), `${word} is visible:\n${whole}`);
}

/** The client's function: what a city's weather is, and which cities it was asked for. */
function forecast() {
  const asked = [];
  const call = ({ city }) => {
    asked.push(city);
    return `sunny in ${city}`;
  };
  return { asked, call };
}

/** The mixed turn's calls in the model's order; and ours in front, where the client does not show the order. */
const WHOLE = ["eval_code r-1", "get_weather sunny in Łódź", "eval_code r-3", "get_weather sunny in Qom"];
const OURS_FIRST = [WHOLE[0], WHOLE[2], WHOLE[1], WHOLE[3]];

/** All four calls of the mixed turn, each with its result, in this order; from pairs of name and result. */
function assertWhole(pairs, order = WHOLE) {
  const short = ([name, result]) => `${name.split("__")[0]} ${/r-\d|sunny in \S+/.exec(result)?.[0] ?? result}`;
  assert.deepEqual(pairs.map(short), order);
}

const words = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");

module.exports = {
  FAILING, HIDDEN, MIXED, MODEL, OURS_FIRST, REFUSED, SCHEMA, assertWhole, clean, forecast, fresh, suite, words,
};
